"""The context of rules: the manifest set, the release, the platform and the snapshot."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, NamedTuple

from kschedctl.common.findings import Finding
from kschedctl.linter.folder_purposes import PurposeOfFolder, purpose_of
from kschedctl.linter.kustomization import RESOURCE_FIELDS, listed_paths, normal_path
from kschedctl.linter.kustomize_builds import UNKNOWN
from kschedctl.linter.lint_files import LintFile
from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.pods import Replicas, TemplatePart, WorkloadPods, holds_for, new_pods_first, replicas
from kschedctl.linter.values import TEMPLATES, Steps, at, mapping
from kschedctl.objects.core import Node
from kschedctl.objects.pod import PodAffinityTerm
from kschedctl.objects.releases.release import LATEST, Release

if TYPE_CHECKING:
    from kschedctl.linter.overlay import ClusterOverlay


# Detection of objects for OpenShift, whose nodes still have the labels and taints that kubeadm dropped.

_ANNOTATION: Final = "include.release.openshift.io/"
_GROUP: Final = ".openshift.io"
_NAMESPACE: Final = "openshift-"
OPENSHIFT: Final = "openshift"


def tells_openshift(obj: LintObject) -> bool:
    """Report whether an object shows that it and the manifests around it are for OpenShift."""
    group = obj.api_version.rpartition("/")[0]
    if f".{group}".endswith(_GROUP) or obj.namespace.startswith(_NAMESPACE):
        return True
    if obj.kind == "Namespace" and obj.name.startswith(_NAMESPACE):
        return True
    return any(key.startswith(_ANNOTATION) for key in mapping(obj.annotations))


class Platform:
    """The platform of each object of a run: OpenShift or not.

    An object that shows that it is for OpenShift counts for all objects in the parent folder of its own folder and
    below, and not for the whole run, because a run may read the manifests of many clusters.

    Args:
        named: The platform that the settings name; empty if they name none. A platform of the settings holds for
            all objects.
        cluster: True if the nodes of the snapshot are those of OpenShift.
    """

    def __init__(self, given: LintManifests, named: str = "", *, cluster: bool = False) -> None:
        self._named = named.lower()
        self._cluster = cluster
        shown = {obj.file.folder for obj in given.objects if tells_openshift(obj)} if not self._named else set()
        self._around = frozenset(str(PurePath(folder).parent) for folder in shown) | shown
        self._is_within = cache(self._within)

    def is_openshift(self, obj: LintObject) -> bool:
        """Report whether an object is for OpenShift."""
        if self._named:
            return self._named == OPENSHIFT
        return self._cluster or self._is_within(obj.file.folder)

    def _within(self, folder: str) -> bool:
        path = PurePath(folder)
        return any(str(each) in self._around for each in (path, *path.parents))


#: The beginning of labels of OpenShift's nodes.
_OPENSHIFT: Final = "node.openshift.io/"


class Undecided(NamedTuple):
    """A rule that could not be decided for an object, with the reason."""

    rule: str
    object: str
    why: str


@dataclass(eq=False)
class LintContext:
    """The context in which rules run."""

    #: The manifest set.
    manifests: LintManifests
    #: The Kubernetes release whose rules apply.
    release: Release = LATEST
    #: The snapshot with the manifests applied; ``None`` if there is no snapshot.
    overlay: "ClusterOverlay | None" = None
    #: The platform that the settings name; empty if they name none.
    platform: str = ""
    #: The names of the user's own scheduler plugins.
    plugins: Sequence[str] = ()
    #: The path of the pod template of custom kinds, by group and kind.
    pod_templates: Mapping[str, Steps] = field(default_factory=dict)
    #: True if kustomizations and charts were rendered first, as far as possible.
    is_rendered: bool = False
    #: The cached findings of the API server's validation, which two rules use.
    refusals: dict[LintObject, list[Finding]] = field(default_factory=dict)
    undecided: list[Undecided] = field(default_factory=list)

    @cached_property
    def templates(self) -> Mapping[str, tuple[Steps, bool]]:
        """The path of the pod template, and true for a custom kind of the settings, by group and kind."""
        every = {**self.pod_templates, **TEMPLATES}
        return {type_: (steps, type_ not in TEMPLATES) for type_, steps in every.items()}

    @cached_property
    def pods(self) -> list[WorkloadPods]:
        """The pods and the objects with a pod template, without partial objects, also those that others create."""
        found = (
            WorkloadPods(obj, *self.templates[obj.type]) for obj in self.manifests.whole if obj.type in self.templates
        )
        return [pods for pods in found if pods.spec]

    @cached_property
    def workloads(self) -> list[WorkloadPods]:
        """The pods and workloads that no other workload of the manifest set creates."""
        return self.without_owned(self.pods)

    def without_owned(self, found: Iterable[WorkloadPods]) -> list[WorkloadPods]:
        """Return workloads and pods without those that others of them create, as the ReplicaSets of a Deployment."""
        every = list(found)
        keys = {pods.obj.key for pods in every}
        return [pods for pods in every if keys.isdisjoint(self.manifests.owners(pods.obj))]

    @cached_property
    def owned(self) -> frozenset[LintObject]:
        """The pods and workloads that another workload of the manifest set creates."""
        return frozenset(self._by_object.keys() - {pods.obj for pods in self.workloads})

    @cached_property
    def _by_object(self) -> dict[LintObject, WorkloadPods]:
        return {pods.obj: pods for pods in self.pods}

    def pods_seen_from(self, obj: LintObject) -> Iterator[WorkloadPods]:
        """Yield the pods in the namespace of `obj` that a rule relates to it; other variants of `obj` are left out."""
        for type_ in self.templates:
            for other in self.manifests.beside(obj, type_):
                if other in self._by_object and not (other.key == obj.key and other is not obj):
                    yield self._by_object[other]

    @cached_property
    def nodes(self) -> Sequence[Node]:
        """The nodes of the snapshot, else those of the manifest set that a cluster had; empty if they are not known."""
        if self.overlay is not None:
            return self.overlay.nodes
        found = (obj.typed for obj in self.manifests.by_type.get("Node", ()) if obj.live)
        return [node for node in found if isinstance(node, Node)]

    @cached_property
    def _node_labels(self) -> frozenset[str]:
        return frozenset(key for node in self.nodes for key in node.metadata.labels)

    def has_no_domain(self, key: str) -> bool:
        """Report whether nodes are known, and none has the label, so that terms with this topology key do nothing."""
        return bool(self.nodes) and key not in self._node_labels

    def has_nodes_of(self, prefix: str) -> bool:
        """Report whether a node has a label that begins so."""
        return any(key.startswith(prefix) for key in self._node_labels)

    @cached_property
    def _platform(self) -> Platform:
        cluster = self.overlay is not None and self.has_nodes_of(_OPENSHIFT)
        return Platform(self.manifests, self.platform, cluster=cluster)

    def is_openshift(self, obj: LintObject) -> bool:
        """Report whether an object is for OpenShift."""
        return self._platform.is_openshift(obj)

    def replicas(self, pods: WorkloadPods) -> Replicas | None:
        """Return the number of replicas of a workload; ``None`` if it is not known."""
        return replicas(pods, self.manifests)

    def new_pods_first(self, pods: WorkloadPods) -> Replicas | None:
        """Return the replicas of a workload whose rollouts start a new pod before an old one ends, else ``None``."""
        return new_pods_first(pods, self.manifests)

    def cannot_count(self, rule: str, pods: WorkloadPods) -> None:
        """Note that a rule is not decided, if that is because a kustomization sets replicas that are not known."""
        if at(pods.obj.raw, "spec", "replicas") == UNKNOWN:
            self.cannot_decide(rule, pods.obj, "spec.replicas is set by a kustomization, to a value that is not known")

    @cached_property
    def fragments(self) -> list[WorkloadPods]:
        """The pod templates of partial objects that no kustomization deletes, for rules about single fields."""
        partial = (obj for obj in self.manifests.objects if obj.partial and not obj.deleted)
        found = (obj for obj in partial if obj.type in self.templates)
        return [pods for obj in found if (pods := WorkloadPods(obj, *self.templates[obj.type])).metadata or pods.spec]

    def purpose_of(self, file: LintFile) -> PurposeOfFolder | None:
        """Return the purpose of the manifests of a file; ``None`` if they are applied, or may be.

        What a kustomization lists that is not in a folder of tests or releases itself is applied, wherever it is.
        """
        purpose = file.purpose
        return None if purpose is not None and self._is_applied(file) else purpose

    def _is_applied(self, file: LintFile) -> bool:
        """Report whether a kustomization that may be applied lists a file, or a kustomization that lists it."""
        by_folder, root = self.manifests.kustomizations.by_folder, normal_path(file.root)
        waiting, seen = [normal_path(file.name)], set[str]()
        while waiting:
            path = waiting.pop()
            for folder in self._listed_in[path] - seen if path in self._listed_in else ():
                seen.add(folder)
                waiting.append(folder)
                below = by_folder[folder].inside or os.path.relpath(by_folder[folder].name, root)
                if below.startswith(os.pardir) or purpose_of(below) is None:
                    return True
        return False

    @cached_property
    def _listed_in(self) -> Mapping[str, set[str]]:
        """The folders of the kustomizations that list a path as a resource, by the path."""
        found: dict[str, set[str]] = defaultdict(set)
        for folder, file in self.manifests.kustomizations.by_folder.items():
            for path in listed_paths(file, RESOURCE_FIELDS):
                found[path].add(folder)
        return found

    def cannot_decide(self, rule: str, obj: LintObject, why: str) -> None:
        """Note that a rule reports nothing for an object because something is not known."""
        self.undecided.append(Undecided(rule, obj.shown, why))

    def may_be_elsewhere(self, rule: str, obj: LintObject) -> bool:
        """Report whether a missing object may be in an unreadable document of the folder; if so, note that."""
        broken = self.manifests.unreadable_near(obj)
        if broken is None:
            return False
        self.cannot_decide(rule, obj, f"{broken.location} could not be read")
        return True

    def matches_nobody(self, part: TemplatePart[PodAffinityTerm], pods: WorkloadPods, rule: str) -> bool:
        """Report whether a term of pod affinity certainly matches no pod of the manifest set or of the snapshot."""
        if part.value is None or any(holds_for(part, pods, other) is not False for other in (pods, *self.pods)):
            return False
        if self.overlay is not None and self.overlay.has_pods_of(part, pods):
            return False
        return not self.may_be_elsewhere(rule, pods.obj)

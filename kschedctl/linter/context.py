"""What rules are asked about: the manifest set, whose rules apply, what is known of the platform and of a snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kschedctl.api.pod import PodAffinityTerm
from kschedctl.findings.finding import Finding
from kschedctl.linter.manifest_set import ManifestObject, ManifestSet
from kschedctl.linter.partial import TEMPLATES
from kschedctl.linter.platform import Platform
from kschedctl.linter.pods import Part, Pods, holds_for
from kschedctl.linter.replicas import Replicas, new_pods_first, replicas
from kschedctl.linter.values import Steps
from kschedctl.releases.release import LATEST, Release

if TYPE_CHECKING:
    from kschedctl.linter.overlay import Overlay


class Undecided(NamedTuple):
    """A rule that could not be decided for an object, and why."""

    rule: str
    object: str
    why: str


@dataclass(eq=False)
class Context:
    """What rules are asked about."""

    #: The objects.
    manifests: ManifestSet
    #: Whose rules apply.
    release: Release = LATEST
    #: The snapshot.
    overlay: Overlay | None = None
    #: The platform that the settings name; empty for none.
    platform: str = ""
    #: Scheduler plugins that are not Kubernetes' own.
    plugins: Sequence[str] = ()
    #: The way to the pod template in kinds that are not Kubernetes' own.
    pod_templates: Mapping[str, Steps] = field(default_factory=dict)
    #: What an API server says of objects, as two rules ask.
    refusals: dict[ManifestObject, list[Finding]] = field(default_factory=dict)
    undecided: list[Undecided] = field(default_factory=list)

    @cached_property
    def templates(self) -> Mapping[str, tuple[Steps, bool]]:
        """Where kinds have their pod template, and whether the settings name them."""
        every = {**self.pod_templates, **TEMPLATES}
        return {type_: (steps, type_ not in TEMPLATES) for type_, steps in every.items()}

    @cached_property
    def pods(self) -> list[Pods]:
        """Whatever makes pods, but for partial objects."""
        return [pods for obj in self.manifests.whole if (pods := self._pods_of(obj)) is not None]

    @cached_property
    def _by_object(self) -> dict[ManifestObject, Pods]:
        return {pods.obj: pods for pods in self.pods}

    def _pods_of(self, obj: ManifestObject) -> Pods | None:
        found = self.templates.get(obj.type)
        if found is None:
            return None
        pods = Pods(obj, *found)
        return pods if pods.spec else None

    def pods_seen_from(self, obj: ManifestObject) -> Iterator[Pods]:
        """The pods that a relation of an object looks at, in its namespace; a variant of the object is not one."""
        for type_ in self.templates:
            for other in self.manifests.beside(obj, type_):
                if other in self._by_object and not (other.key == obj.key and other is not obj):
                    yield self._by_object[other]

    @cached_property
    def _platform(self) -> Platform:
        cluster = self.overlay is not None and self.overlay.is_openshift
        return Platform(self.manifests, self.platform, cluster=cluster)

    def is_openshift(self, obj: ManifestObject) -> bool:
        """Whether an object is meant for OpenShift."""
        return self._platform.is_openshift(obj)

    def replicas(self, pods: Pods) -> Replicas | None:
        """How many pods a workload has, where that can be told."""
        return replicas(pods, self.manifests)

    def new_pods_first(self, pods: Pods) -> Replicas | None:
        """How many pods a workload has whose rollouts start new ones first; ``None`` for all others."""
        return new_pods_first(pods, self.manifests)

    def cannot_decide(self, rule: str, obj: ManifestObject, why: str) -> None:
        """Note that a rule is silent because something cannot be known."""
        self.undecided.append(Undecided(rule, obj.shown, why))

    def may_be_elsewhere(self, rule: str, obj: ManifestObject) -> bool:
        """Whether what is not found may stand in a document that could not be read; that is noted."""
        broken = self.manifests.unreadable_near(obj)
        if broken is None:
            return False
        self.cannot_decide(rule, obj, f"{broken.location} could not be read")
        return True

    def matches_nobody(self, part: Part[PodAffinityTerm], pods: Pods, rule: str) -> bool:
        """Report whether a term of pod affinity certainly matches no pod of the manifest set or of the snapshot."""
        if part.value is None or any(holds_for(part, pods, other) is not False for other in (pods, *self.pods)):
            return False
        if self.overlay is not None and self.overlay.has_pods_of(part, pods):
            return False
        return not self.may_be_elsewhere(rule, pods.obj)

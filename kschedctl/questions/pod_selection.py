"""The pods, pod groups and workloads that a request is about, named or selected as with kubectl."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_group_trees import GroupForest
from kschedctl.cluster.pod_groups import group_members, groups_with_members
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PENDING
from kschedctl.common.arrays import PodIndices
from kschedctl.common.errors import InputError, ManifestError
from kschedctl.common.wording import counted, listed, similar
from kschedctl.controllers.workloads.ownership import MAKERS, pods_made_by, workloads
from kschedctl.controllers.workloads.pods import WORKLOADS
from kschedctl.objects.defaults import DEFAULT_SCHEDULER_NAME
from kschedctl.objects.kinds import kind_by_name, split_name
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.selectors import matches, parse_label_query
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.manifests import ManifestRequest, Manifests, ObjectSubject, read_manifests
from kschedctl.questions.provenance import PodSubject
from kschedctl.scheduler.volumes.claims import claim_uses
from kschedctl.sources.snapshot.pod_choice import find_pod, is_manifest
from kschedctl.sources.snapshot.validation import Validation
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.targets import find_object, require_namespace

# The namespaces that a request is about, with kubectl's meaning of names, ``-n`` and ``-A``.

T = TypeVar("T", bound=ApiObject)


class NamespaceScope(msgspec.Struct, frozen=True):
    """The namespaces that a request is about."""

    #: The value of ``-n``; empty if ``-n`` is not given or ``-A`` overrides it.
    given: str
    #: True for all namespaces.
    everywhere: bool
    #: The cluster, whose context may name a namespace.
    source: ClusterSource

    @classmethod
    def of(cls, namespace: str, source: ClusterSource, *, everywhere: bool = False) -> "NamespaceScope":
        """Return the scope of ``-n`` and ``-A``; ``-A`` overrides ``-n``."""
        return cls("" if everywhere else namespace, everywhere, source)

    @property
    def namespace(self) -> str | None:
        """The only namespace of names without one; ``None`` for all."""
        return None if self.everywhere else self.given or self.source.namespace

    @property
    def selected(self) -> str | None:
        """The only namespace of a selection; ``None`` for all, as a snapshot has no current namespace."""
        return None if self.source.paths and not self.given else self.namespace

    def select(self, objects: Iterable[T], selector: str) -> list[T]:
        """Return the objects in scope that match a label selector; an empty one matches all."""
        query, namespace = parse_label_query(selector) if selector else None, self.selected
        return [
            obj
            for obj in objects
            if namespace in (None, obj.metadata.namespace) and (query is None or matches(query, obj.metadata.labels))
        ]

    def split(
        self, text: str, kind: type[ApiObject], forms: str, *, aliases: Container[str] = ()
    ) -> tuple[str, str | None]:
        """Split an argument into name and namespace.

        Args:
            text: ``NAME``, ``NAMESPACE/NAME``, ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``.
            kind, forms: The kind of object that the argument should name, and the accepted forms, for errors.
            aliases: Other words for the kind than those that kubectl accepts.

        Raises InputError if the argument is no name, or its namespace differs from the value of ``-n``.
        """
        split = split_name(text, kind, aliases=aliases)
        if split is None:
            what = "pod" if kind is Pod else kind.__name__
            raise InputError(f'"{text}" is not the name of a {what}', hint=f"give {forms}")
        own, name = split
        if self.given and own and own != self.given:
            raise InputError(f'"{text}" has another namespace than -n {self.given}')
        return name, own or self.namespace

    def __str__(self) -> str:
        namespace = self.selected
        return "any namespace" if namespace is None else f"namespace {namespace}"


class SubjectRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The objects that a request is about: named, in manifests, or selected."""

    #: The cluster that has the objects, or in which they are created.
    cluster: ClusterRequest = msgspec.field(default_factory=ClusterRequest)
    #: Names of objects, and paths of manifests.
    names: tuple[str, ...] = ()
    #: Paths of manifests.
    filenames: tuple[str, ...] = ()
    #: The namespace of names without one, and of the selection; empty for the default.
    namespace: str = ""
    #: True for the objects of all namespaces.
    all_namespaces: bool = False
    #: A label selector; empty for the default selection if nothing is named.
    selector: str = ""
    #: The handling of unknown and duplicate fields of manifests, as with kubectl's ``--validate``.
    validation: Validation = Validation.STRICT

    @property
    def named(self) -> bool:
        """True if objects are named, not selected."""
        return bool(self.names or self.filenames)

    @property
    def scope(self) -> NamespaceScope:
        """The namespaces in scope."""
        return NamespaceScope.of(self.namespace, self.cluster.source, everywhere=self.all_namespaces)


# Groups and claims of the snapshot that arguments name as kubectl does: ``podgroup/train`` or ``pvc/data``.
#
# The answer for one member of a group is the answer for all, so such an argument means one of its pods. Of a claim, it
# means one of the pods that use it.

#: The kinds of such objects, with the verb for their pods.
_WITH_PODS: Final = {
    PodGroup: "is in",
    CompositePodGroup: "is in",
    PersistentVolumeClaim: "uses",
    PersistentVolume: "uses",
}


def names_member(text: str) -> bool:
    """Report whether an argument names an object that stands for one of its pods: a group, or a claim.

    >>> names_member("podgroup/train"), names_member("pvc/shop/data"), names_member("ml/train-0")
    (True, True, False)
    """
    word, slash, _ = text.partition("/")
    return bool(slash) and kind_by_name(word) in _WITH_PODS


def named_member(cluster: Cluster, text: str, scope: NamespaceScope) -> PodSubject:
    """Return a pod of the group or claim that an argument names: the first pending one, else the first.

    Args:
        text: The argument, for which ``names_member`` is true.

    Raises InputError if no pod of the snapshot is in such a group or uses such a claim, or pods of several namespaces.
    """
    word = text.partition("/")[0]
    kind = kind_by_name(word)
    assert kind is not None
    if kind is PersistentVolume:
        claim = claim_of_volume(cluster, text.removeprefix(f"{word}/"))
        return named_member(cluster, f"pvc/{claim.namespace}/{claim.name}", scope)
    name, namespace = scope.split(text, kind, f"{word}/NAME or {word}/NAMESPACE/NAME")
    every = _pods_by_object(cluster, kind)
    found = sorted(key for key in every if key[1] == name and namespace in (None, key[0]))
    if len(found) > 1:
        problem = f"pods of {len(found)} namespaces have a {kind.__name__} {name}"
        raise ManifestError(problem, hint=f"give the namespace with -n: {listed([key[0] for key in found], 'or')}")
    if not found:
        where = f"{kind.__name__} {namespace}/{name}" if namespace is not None else f"{kind.__name__} {name}"
        elsewhere = [f"{word}/{key[0]}/{name}" for key in every if key[1] == name]
        close = [f"{word}/{other}" for other in similar(name, (key[1] for key in every))]
        hint = f"the snapshot has {listed(elsewhere, 'or')}" if elsewhere else ""
        hint = hint or (f"did you mean {listed(close, 'or')}?" if close else "")
        raise ManifestError(f"no pod of the snapshot {_WITH_PODS[kind]} {where}", hint=hint)
    members = every[found[0]]
    pending = members[cluster.pods.node_row[members] == PENDING]
    return PodSubject(cluster.pods.pod(int((pending if len(pending) else members)[0])))


def claim_of_volume(cluster: Cluster, name: str) -> PersistentVolumeClaim:
    """Return the claim that is bound to a volume.

    Raises InputError if there is no such volume, or no claim is bound to it.
    """
    volume = find_object(cluster, PersistentVolume, name)
    of = volume.spec.claim_ref
    claim = cluster.get(PersistentVolumeClaim, of.name, of.namespace) if of is not None else None
    if claim is None:
        reason = f"its claim {of.namespace}/{of.name} does not exist" if of is not None else "no claim is bound to it"
        raise InputError(f"PersistentVolume {name} is not in use: {reason}", hint="name a claim or a pod")
    return claim


def _pods_by_object(cluster: Cluster, kind: type[ApiObject]) -> Mapping[tuple[str, str], PodIndices]:
    """Return the pods of each group or claim that has some: indices into ``Cluster.pods``."""
    if kind is PersistentVolumeClaim:
        users: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for index in range(len(cluster.pods)):
            pod = cluster.pods.pod(index)
            for use in claim_uses(pod):
                users[pod.namespace, use.claim].append(index)
        return {key: np.array(indices, dtype=np.int64) for key, indices in users.items()}
    if kind is PodGroup:
        return {key: group_members(cluster, *key) for key in groups_with_members(cluster)}
    forest = GroupForest(cluster, grows=True)
    found = {(each.namespace, each.name): forest.members(cluster, each) for each in cluster.list(CompositePodGroup)}
    return {key: members for key, members in found.items() if len(members)}


# Workloads of the snapshot that arguments name as kubectl does: ``deploy/web``, ``statefulsets/db``, ``jobs.batch/x``.
#
# An argument of that form means the workload, unless a file of that path exists (``is_manifest``). A pod in a namespace
# whose name is also that of a kind is named with ``-n``.


def workload_kind(text: str) -> type[ApiObject] | None:
    """Return the kind of workload that an argument names; ``None`` if it names no workload.

    >>> workload_kind("deploy/web").__name__, workload_kind("shop/web-7"), workload_kind("po/web-7")
    ('Deployment', None, None)
    """
    word, slash, _ = text.partition("/")
    kind = kind_by_name(word) if slash else None
    return kind if kind in WORKLOADS and kind is not Pod else None


def named_workload(cluster: Cluster, text: str, scope: NamespaceScope) -> ObjectSubject:
    """Return the workload of the snapshot that an argument names.

    Args:
        text: The argument; ``workload_kind`` recognizes its kind.

    Raises InputError if there is no workload of that name, or there are several.
    Raises ClusterError if there is none, and the kind could not be listed.
    """
    kind = workload_kind(text)
    assert kind is not None
    word = text.partition("/")[0]
    name, namespace = scope.split(text, kind, f"{word}/NAME or {word}/NAMESPACE/NAME")
    every = list(cluster.list(kind))
    found = [obj for obj in every if obj.name == name and namespace in (None, obj.namespace)]
    if len(found) == 1:
        obj = found[0]
        arguments = {"pods": (f"{kind.__name__.lower()}/{name}",), "namespace": obj.namespace}
        return ObjectSubject(obj, arguments)
    if found:
        places = listed([obj.namespace for obj in found], "or")
        problem = f"the snapshot has {len(found)} {kind.__name__}s with the name {name}"
        raise ManifestError(problem, hint=f"give the namespace with -n: {places}")
    require_listed(cluster, kind.__name__, namespace or "")
    known = sorted(workloads(cluster, kind) if kind in MAKERS else ((obj.namespace, obj.name) for obj in every))
    where = f"{kind.__name__} {namespace}/{name}" if namespace is not None else f"{kind.__name__} {name}"
    if (word, name) in cluster.pods.index:
        hint = f"to name the pod, use {name} -n {word}"
    elif own := _pods_of_missing(cluster, kind, namespace, name):
        raise ManifestError(
            f"the template of {where} is not in the snapshot",
            hint=f"the snapshot has {counted(len(own), 'pod')} of it: name one, such as {own[0]}",
        )
    elif elsewhere := [f"{word}/{own}/{name}" for own, other in known if other == name]:
        hint = f"the snapshot has {listed(elsewhere, 'or')}"
    elif close := [f"{word}/{other}" for other in similar(name, (other for _, other in known))]:
        hint = f"did you mean {listed(close, 'or')}?"
    else:
        hint = "" if known else f"the snapshot has no {kind.__name__}s: name a pod or a manifest"
    raise ManifestError(f"the snapshot has no {where}", hint=hint)


def _pods_of_missing(cluster: Cluster, kind: type[ApiObject], namespace: str | None, name: str) -> list[str]:
    """Return the pods of a workload that is not in the snapshot, the pending ones first, as namespace/name."""
    if kind not in MAKERS:
        return []
    namespaces = [namespace] if namespace else sorted({own for own, other in workloads(cluster, kind) if other == name})
    found = [index for own in namespaces for index in pods_made_by(cluster, kind, own, name)]
    found.sort(key=lambda index: int(cluster.pods.node_row[index]) != PENDING)
    return [cluster.pods.key(index) for index in found]


class PodRequest(SubjectRequest, frozen=True, kw_only=True):
    """The pods that a request is about; the pending ones if none are named or selected by labels."""

    @property
    def pod_names(self) -> list[str]:
        """The names of single pods among the arguments."""
        return [name for name in self.names if not is_manifest(name) and not workload_kind(name)]

    @property
    def workload_names(self) -> list[str]:
        """The names of workloads among the arguments."""
        return [name for name in self.names if not is_manifest(name) and workload_kind(name)]

    def read_manifests(self, cluster: ClusterRequest, handle: AnalysisHandle) -> Manifests:
        """Read the manifests among the arguments.

        Raises InputError if the manifests cannot be read, or pods are named and a selector is given as well.
        """
        if self.named and self.selector:
            raise InputError("names of pods and a selector are given", hint="give only one of them")
        request = ManifestRequest(
            paths=tuple(text for text in self.names if is_manifest(text)),
            filenames=self.filenames,
            namespace=self.scope.given,
            validation=self.validation,
        )
        return read_manifests(request, cluster, handle)

    def load(self, handle: AnalysisHandle) -> tuple[LoadedCluster, list[PodSubject]]:
        """Load the cluster and find the pods.

        Raises KschedctlError if the cluster or a manifest cannot be read, or there is no such pod, or the pods
            could not be listed.
        """
        manifests = self.read_manifests(self.cluster, handle)
        namespace = next(map(_namespace_in, self.pod_names), "")
        cluster = self.cluster.reading(namespace).load(handle, manifests.others, manifests.written)
        if self.pod_names or not self.named:
            require_listed(cluster.cluster, "Pod")
        cluster = self.cluster.require_nodes(cluster)
        named = []
        for name in self.workload_names:
            with _or_folder(name):
                named.append(named_workload(cluster.cluster, name, self.scope))
        cluster, given = manifests.beside(named).pods(cluster, handle)
        asked = [*given, *(self.named_subject(cluster.cluster, name) for name in self.pod_names)]
        if not self.named:
            asked = self.selected(cluster.pods)
            if not asked and self.selector:
                raise self.nothing_found(cluster.pods)
            if not asked:
                require_namespace(cluster.cluster, self.scope.given)
                self.note_elsewhere((cluster.pods,), handle)
                return cluster, []
        return cluster, self.answerable(asked, handle, cluster.configuration.profiles)

    def named_subject(self, cluster: Cluster, text: str) -> PodSubject:
        """Return the pod that an argument names, or that stands for the group or claim that it names.

        Raises InputError if there is none, ClusterError if pods could not be listed.
        """
        if names_member(text):
            return named_member(cluster, text, self.scope)
        try:
            return self.named_pod(cluster, text)
        except ManifestError:
            require_listed(cluster, "Pod", _namespace_in(text) or self.scope.namespace or "")
            raise

    def named_pod(self, cluster: Cluster, text: str) -> PodSubject:
        """Return the pod of the cluster that an argument names; errors are those of the function ``named_pod``."""
        with _or_folder(text):
            return named_pod(cluster, text, self.scope)

    def selected(self, pods: Pods, *, running: bool = False) -> list[PodSubject]:
        """Return the pods that match the selector, or the pending ones without it, in the order of the snapshot.

        Args:
            running: True to select running pods as well, if no selector is given.
        """
        namespace = self.scope.selected
        return [
            PodSubject(pods.pod(index))
            for index in self._matching(pods, running=running)
            if namespace in (None, pods.records[index].metadata.namespace)
        ]

    def _matching(self, pods: Pods, *, running: bool) -> Iterator[int]:
        """Yield the pods of all namespaces that would be selected."""
        query = parse_label_query(self.selector) if self.selector else None
        for index, record in enumerate(pods.records):
            if running or pods.node_row[index] == PENDING if query is None else matches(query, record.metadata.labels):
                yield index

    def note_elsewhere(self, sides: Sequence[Pods], handle: AnalysisHandle) -> None:
        """Note the other namespaces with pending pods, if none is selected."""
        if elsewhere := self._elsewhere(sides):
            handle.note(f"pods are pending in {elsewhere}")

    def nothing_found(
        self, *sides: Pods, hint: str = "name a pod (NAMESPACE/NAME) or a manifest", running: bool = False
    ) -> InputError:
        """Return the error for a selection without a pod, with the namespaces that have some."""
        what = f"has the labels {self.selector}" if self.selector else "is pending"
        problem = (
            f"there is no pod in {self.scope}" if running and not self.selector else f"no pod in {self.scope} {what}"
        )
        if elsewhere := self._elsewhere(sides, running=running):
            hint += f"; there are such pods in {elsewhere}"
        return InputError(problem, hint=hint)

    def _elsewhere(self, sides: Sequence[Pods], *, running: bool = False) -> str:
        """Return the other namespaces with pods that would be selected, and how to name them; empty if none has."""
        found = {pods.key(index) for pods in sides for index in self._matching(pods, running=running)}
        counts = Counter(key.partition("/")[0] for key in sorted(found))
        names = listed([f"{name} ({number})" for name, number in counts.most_common()])
        return f"{names}: give -n or -A" if names else ""

    def answerable(
        self, asked: list[PodSubject], handle: AnalysisHandle, *profiles: Container[str]
    ) -> list[PodSubject]:
        """Return the pods that one of the profiles is responsible for; the others are named in a note.

        If no profile is responsible for any of the named pods, all are returned: the decision for each explains this.

        Raises InputError if no profile is responsible for any of the selected pods.
        """
        kept: list[PodSubject] = []
        others: dict[str, list[str]] = defaultdict(list)
        for one in asked:
            # The pod of a template or manifest may lack the default of an API server.
            name = one.pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
            if any(name in known for known in profiles):
                kept.append(one)
            else:
                others[name].append(one.pod.key)
        if not kept and self.named:
            return asked
        text = "; ".join(f"{listed(keys)} ({name})" for name, keys in others.items())
        if not kept:
            hint = "give a configuration with its profile: --config"
            raise InputError(f"another scheduler is responsible for all pods: {text}", hint=hint)
        if others:
            handle.note(f"skipped, as another scheduler is responsible: {text}")
        return kept


def _namespace_in(text: str) -> str:
    """Return the namespace in the name of a pod; empty if it has none."""
    return (split_name(text, Pod) or ("", ""))[0]


def named_pod(cluster: Cluster, text: str, scope: NamespaceScope) -> PodSubject:
    """Return the pod of the cluster that an argument names.

    Raises InputError if there is no such pod, or the argument is not a pod's name.
    """
    name, namespace = scope.split(text, Pod, "NAMESPACE/NAME, pod/NAME, NAME or the path of a manifest")
    try:
        return PodSubject(find_pod(cluster.pods, name, namespace))
    except ManifestError as error:
        if kind_by_name(text) is None:
            raise
        raise ManifestError(error.findings[0].problem, hint=f"to name a {text}, use {text}/NAME") from None


@contextmanager
def _or_folder(text: str) -> Iterator[None]:
    """Say in the error about a name that there is a folder of that name, which is not read."""
    try:
        yield
    except ManifestError as error:
        if not Path(text).is_dir():
            raise
        found = error.findings[0]
        folder = f"there is a folder {text}, which is read as manifests if it is written as {text}/"
        raise ManifestError(found.problem, hint="; ".join(filter(None, (found.hint, folder)))) from None


# The workload that a request is about: one of the cluster, or one of a manifest.


class WorkloadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The workload that a rollout is about."""

    #: The cluster that has the workload.
    cluster: ClusterRequest = msgspec.field(default_factory=ClusterRequest)
    #: ``KIND/NAME``, or the path of a manifest; empty for the only workload of the manifests.
    name: str = ""
    #: Paths of manifests with the new template; without any, the template is rolled out once more.
    filenames: tuple[str, ...] = ()
    #: The namespace; empty for the default.
    namespace: str = ""
    #: True to look in all namespaces.
    all_namespaces: bool = False
    #: The handling of unknown and duplicate fields of manifests, as with kubectl's ``--validate``.
    validation: Validation = Validation.STRICT

    def load(self, handle: AnalysisHandle) -> tuple[LoadedCluster, ObjectSubject]:
        """Load the cluster and find the workload with its new template.

        Raises KschedctlError if the cluster or a manifest cannot be read, or the request names no workload or
            several.
        """
        is_path = is_manifest(self.name)
        scope = NamespaceScope.of(self.namespace, self.cluster.source, everywhere=self.all_namespaces)
        request = ManifestRequest(
            paths=(self.name,) if is_path else (),
            filenames=self.filenames,
            namespace=scope.given,
            validation=self.validation,
        )
        manifests = read_manifests(request, self.cluster, handle)
        cluster = self.cluster.load(handle, manifests.others, manifests.written)
        require_listed(cluster.cluster, "Pod")
        cluster = self.cluster.require_nodes(cluster)
        name = "" if is_path else self.name
        if name and not workload_kind(name):
            raise InputError(f'"{name}" is not the name of a workload', hint="give deploy/NAME or sts/NAME")
        if manifests.asked:
            return cluster, _chosen(manifests, name)
        with _or_folder(name):
            found = named_workload(cluster.cluster, name, scope)
        # Needed for rollouts only.
        from kschedctl.trials.simulate.rollout import restarted

        return cluster, ObjectSubject(restarted(found.obj), found.arguments)


def _chosen(manifests: Manifests, name: str) -> ObjectSubject:
    # Needed for rollouts only.
    from kschedctl.controllers.workloads.update_strategy import ROLLED

    rolled = [asked for asked in manifests.asked if isinstance(asked.obj, ROLLED)]
    if name:
        kind, own = workload_kind(name), name.partition("/")[2]
        rolled = [asked for asked in rolled if type(asked.obj) is kind and asked.obj.name == own]
    if len(rolled) == 1:
        return rolled[0]
    if not rolled and len(manifests.asked) == 1 and not name:
        # The analysis reports the unsupported kind.
        return manifests.asked[0]
    what = listed([asked.shown for asked in rolled or manifests.asked])
    if rolled:
        raise ManifestError(f"the manifests contain {what}", hint="name one of them, such as deploy/web")
    raise ManifestError(f"the manifests contain no {name or 'Deployment or StatefulSet'}", hint=f"they contain {what}")

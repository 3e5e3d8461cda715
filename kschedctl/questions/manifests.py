"""Manifests that a request names: the pods and workloads that it is about, and the other objects that they create."""

from collections import Counter
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import BinaryIO, TypeVar

import msgspec
from msgspec.structs import replace

from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Location, Subject, Where
from kschedctl.common.wording import listed
from kschedctl.controllers.workloads.ownership import SCALABLE
from kschedctl.controllers.workloads.pods import WORKLOADS, node_of
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.objects.kinds import with_namespace
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import CronJob, DaemonSet, Job
from kschedctl.questions.cluster_request import ClusterRequest
from kschedctl.questions.explain.answer import WorkloadData
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import Arguments, PodSubject, pods_asked_about
from kschedctl.sources.snapshot.files import STDIN, input_name, open_stdin
from kschedctl.sources.snapshot.load import read_manifest
from kschedctl.sources.snapshot.manifest import ManifestObject, ManifestSet, refuse
from kschedctl.sources.snapshot.original_objects import OriginalObjects
from kschedctl.sources.snapshot.validation import Validation
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster

T = TypeVar("T", bound=ApiObject)


class ObjectSubject(msgspec.Struct, frozen=True):
    """An object that a question is about: a pod, a workload or, for ``volumes``, a claim."""

    obj: ApiObject
    #: The options that the object was given with, such as ``{"filename": ("web.yaml",)}``; a file with several
    #: objects selects all of them.
    arguments: Arguments
    #: The place in a manifest that it was read from; ``None`` for a workload of the cluster.
    place: Location | None = None
    #: True to ask about all pods of a workload of the cluster, as if none existed.
    as_new: bool = False

    @property
    def where(self) -> Where:
        """The source of the object, for errors: its place in a manifest, and the name of a workload."""
        if self.place is None:
            return self.obj.ref
        return self.place if isinstance(self.obj, Pod) else Subject(self.place, self.obj.ref)

    @property
    def shown(self) -> str:
        """The kind and name of the object."""
        return str(self.obj.ref)

    def pods(self, cluster: LoadedCluster) -> tuple[Sequence[MadePod], list[PodSubject]]:
        """Return the pods that a controller creates, and all pods that the question is about.

        These are the pods of a manifest. Of a workload of the cluster they are its pending pods, and those that its
        controller has yet to create.

        Raises ManifestError if an API server would refuse the object.
        """
        if self.place is not None or self.as_new:
            made: Sequence[MadePod] = cluster.pods_of(self.obj, where=self.where)
            workload = None if isinstance(self.obj, Pod) else self._workload(sum(one.replicas for one in made))
            where = self.where if self.place is not None else ""
            return made, [self._created(one, workload, where) for one in made]
        found = pods_asked_about(cluster, self.obj)
        counts = isinstance(self.obj, (*SCALABLE, Job))
        workload = self._workload(found.wanted, running=len(found.running) if counts else 0)
        pending = (cluster.pods.pod(index) for index in found.pending)
        is_daemon = isinstance(self.obj, DaemonSet)
        existing = [PodSubject(pod, workload=workload, node=node_of(pod.spec) if is_daemon else "") for pod in pending]
        return found.missing, [*existing, *(self._created(one, workload) for one in found.missing)]

    def _workload(self, wanted: int, running: int = 0) -> WorkloadData:
        suspended = isinstance(self.obj, (Job, CronJob)) and self.obj.spec.suspend
        name = type(self.obj).__name__, self.obj.namespace, self.obj.name
        return WorkloadData(*name, wanted, running=running, suspended=suspended)

    def _created(self, made: MadePod, workload: WorkloadData | None, where: Where = "") -> PodSubject:
        return PodSubject(made.pod, self.arguments, where, workload, made.node, made.replicas)


class ManifestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The manifests that a request names."""

    #: The files and folders given as arguments; ``-`` is standard input.
    paths: tuple[str, ...] = ()
    #: The files and folders given with ``-f``.
    filenames: tuple[str, ...] = ()
    #: The namespace of objects that name none; empty for ``default``.
    namespace: str = ""
    #: The handling of unknown and duplicate fields, as with kubectl's ``--validate``; other invalid fields are
    #: always errors.
    validation: Validation = Validation.STRICT
    #: The name of the option that ``paths`` are values of.
    argument: str = "pods"
    #: The text behind ``-``; ``None`` to read standard input.
    content: bytes | None = None

    def open_stdin(self) -> BinaryIO:
        """Return the stream behind ``-``; errors are those of ``standard_input.open_stdin``."""
        return open_stdin() if self.content is None else BytesIO(self.content)


class Manifests(msgspec.Struct, frozen=True):
    """The content of manifests."""

    #: The pods and workloads that the question is about, including those added by ``beside``.
    asked: tuple[ObjectSubject, ...]
    #: The other objects that scheduling reads; applying the manifests creates them in the cluster.
    others: tuple[tuple[ApiObject, Location], ...] = ()
    #: The objects of another kind that the question is about if a manifest has no pod and no workload.
    otherwise: tuple[ObjectSubject, ...] = ()
    #: The originals of nodes and pods, for extenders.
    written: OriginalObjects = msgspec.field(default_factory=OriginalObjects)
    #: The objects that ``accepted`` still has to validate.
    new: tuple[ManifestObject, ...] = ()

    def beside(self, asked: Iterable[ObjectSubject]) -> "Manifests":
        """Return a copy that also holds workloads of the cluster that the question is about."""
        return replace(self, asked=(*self.asked, *asked))

    def accepted(self, cluster: LoadedCluster, handle: AnalysisHandle) -> "Manifests":
        """Validate all objects by the rules of the cluster's release, and return a copy without ``new``.

        No API server is called. Warnings are passed to ``handle``.

        Raises ManifestError if the API server refuses an object.
        """
        for warning in refuse(self.new, cluster.release_choice.release):
            handle.warn_of(warning)
        return replace(self, new=())

    def pods(self, cluster: LoadedCluster, handle: AnalysisHandle) -> tuple[LoadedCluster, list[PodSubject]]:
        """Return the cluster with the pods' own objects created, and the pods of the manifests.

        Raises ManifestError if an API server would refuse one of the objects, or none of them makes a pod.
        """
        self.accepted(cluster, handle)
        every: list[MadePod] = []
        asked: list[PodSubject] = []
        without: dict[str, str] = {}
        for one in self.asked:
            made, own = one.pods(cluster)
            if not own:
                without[one.shown] = _why_no_node(cluster, one.obj)
            every += made
            asked += own
        if without:
            problem = f"{listed(list(without))}: no node is eligible, so no pod is created"
            hint = "; ".join(filter(None, without.values()))
            if not asked:
                raise ManifestError(problem, hint=hint)
            handle.note(problem)
        return cluster.with_made(every), asked


def _why_no_node(cluster: LoadedCluster, workload: ApiObject) -> str:
    """Return the causes for which a DaemonSet leaves all nodes out."""
    from kschedctl.controllers.workloads.pods import with_daemon_tolerations
    from kschedctl.questions.explain.left_out_nodes import left_out_nodes

    template = workload.spec.template if isinstance(workload, DaemonSet) else None
    if template is None:
        return "node selector, node affinity and tolerations determine the eligible nodes"
    return "; ".join(each.cause for each in left_out_nodes(cluster, with_daemon_tolerations(template.spec)))


def read_manifests(
    request: ManifestRequest, cluster: ClusterRequest, handle: AnalysisHandle, otherwise: type[ApiObject] | None = None
) -> Manifests:
    """Read manifests; objects that scheduling does not read are counted in a note.

    Args:
        cluster: The request of the cluster. Its paths are checked as well, because standard input can be read only
            once.
        otherwise: The kind that the question is about if a manifest has no pod and no workload.

    Raises ManifestError if something is wrong with the manifests, or they hold no object that a question can be
        about.
    """
    sources: list[tuple[str, Arguments]] = [
        *((path, {request.argument: (path,)}) for path in request.paths),
        *((path, {"filename": (path,)}) for path in request.filenames),
    ]
    if [*(path for path, _ in sources), *cluster.inputs].count(STDIN) > 1:
        raise ManifestError("standard input (-) is given twice", hint="name a file instead of one of them")
    asked: list[ObjectSubject] = []
    others_asked: list[ObjectSubject] = []
    others: dict[tuple[type, str, str], tuple[ApiObject, Location]] = {}
    read = ManifestSet()
    for path, arguments in sources:
        manifest = read_manifest(
            path,
            stdin=request.open_stdin() if path == STDIN else None,
            allow_others=True,
            max_unpacked=cluster.source.max_bytes,
            validation=request.validation,
        )
        read += manifest
        found = manifest.objects
        namespace = request.namespace
        own = [
            ObjectSubject(in_namespace(obj, namespace), arguments, at)
            for obj, at in found
            if isinstance(obj, WORKLOADS)
        ]
        rest = [(with_namespace(obj, namespace), at) for obj, at in found if not isinstance(obj, WORKLOADS)]
        asked += own
        others |= {(type(obj), obj.namespace, obj.name): (obj, at) for obj, at in rest}
        if otherwise is not None and not own:
            others_asked += [ObjectSubject(obj, arguments, at) for obj, at in rest if isinstance(obj, otherwise)]
    for warning in read.warnings:
        handle.warn_of(warning)
    skipped = ", ".join(f"{n} {kind}" for kind, n in sorted(read.left_out.items()))
    if sources and not asked and not others_asked:
        wanted = WORKLOADS if otherwise is None else (*WORKLOADS, otherwise)
        raise _nothing_to_ask([path for path, _ in sources], [kind.__name__ for kind, _, _ in others], skipped, wanted)
    for what in read.unread:
        handle.warn(what)
    if skipped:
        handle.note(f"skipped, as scheduling does not use them: {skipped}")
    return Manifests(tuple(asked), tuple(others.values()), tuple(others_asked), read.written, read.read)


def load_with_manifests(request: ManifestRequest, cluster: ClusterRequest, handle: AnalysisHandle) -> LoadedCluster:
    """Load the cluster with the pods and workloads of manifests created in it, if an API server accepts them.

    Raises InputError if the cluster or a manifest cannot be read, or the cluster has no nodes, or its pods could
        not be listed.
    """
    manifests = read_manifests(request, cluster, handle)
    created = [(each.obj, each.place) for each in manifests.asked if each.place is not None]
    loaded = cluster.require_nodes(cluster.load(handle, (*manifests.others, *created), manifests.written))
    require_listed(loaded.cluster, "Pod")
    manifests.accepted(loaded, handle)
    return loaded


def _nothing_to_ask(
    paths: Sequence[str], kinds: Sequence[str], skipped: str, wanted: tuple[type[ApiObject], ...]
) -> ManifestError:
    counts = ", ".join(f"{n} {kind}" for kind, n in sorted(Counter(kinds).items()))
    held = "; ".join(part for part in (counts, skipped and f"{skipped} (not used)") if part)
    names = listed([kind.__name__ for kind in wanted], "or", most=len(wanted))
    return ManifestError(
        "no object to answer for",
        where=", ".join(map(input_name, paths)),
        hint=f"the input contains {held}: give a {names}",
    )


def in_namespace(obj: T, namespace: str) -> T:
    """Return an object in the namespace that the command names.

    Raises ManifestError if the object is of another namespace.
    """
    own = obj.metadata.namespace
    if namespace and own and own != namespace:
        raise ManifestError(
            f"the {type(obj).__name__} {own}/{obj.name} is not in namespace {namespace}, which is given with -n",
            hint="omit -n, or change the manifest",
        )
    return with_namespace(obj, namespace)

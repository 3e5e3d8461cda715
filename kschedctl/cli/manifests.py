"""What manifests ask about, and what else they would bring into the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from kschedctl.api.kind_names import placed
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.wording import listed
from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.options.manifests import ManifestOptions
from kschedctl.cli.streams import note, stdin, warn, warn_of
from kschedctl.errors import ManifestError
from kschedctl.face import SchedulingCluster
from kschedctl.findings.finding import Finding, Subject, Where
from kschedctl.findings.location import Location
from kschedctl.report.explain.data import WorkloadData
from kschedctl.scheduler.missing import require_listed
from kschedctl.snapshot.new_objects import NewObject, refuse
from kschedctl.snapshot.pod_choice import STDIN
from kschedctl.snapshot.reading import read_manifest
from kschedctl.snapshot.validation import Validation
from kschedctl.snapshot.written import WrittenObjects
from kschedctl.workloads.made import MadePod
from kschedctl.workloads.pods import WORKLOADS

T = TypeVar("T", bound=ApiObject)


@dataclass(frozen=True, slots=True)
class Asked:
    """A pod that is asked about.

    Attributes
    ----------
    arguments : tuple of str
        The arguments that ask for it alone.
    where : Subject, Location or str
        Where it was read, where that is a manifest.
    workload : WorkloadData or None
        What makes it, where a manifest has that instead.
    node : str
        The only node that it is for, where a DaemonSet makes it.
    replicas : int
        How many pods are wanted that differ from it in nothing but their name.
    """

    pod: Pod
    arguments: tuple[str, ...]
    where: Where = ""
    workload: WorkloadData | None = None
    node: str = ""
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class Given:
    """A pod or workload, the arguments that ask for it, and where it was read, where that is a manifest."""

    obj: ApiObject
    arguments: tuple[str, ...]
    place: Location | None = None

    @property
    def where(self) -> Where:
        """Its place and, for a workload, its name, for errors."""
        if self.place is None:
            return self.obj.ref
        return self.place if isinstance(self.obj, Pod) else Subject(self.place, self.obj.ref)

    @property
    def shown(self) -> str:
        """Its kind and name."""
        return str(self.obj.ref)


@dataclass(frozen=True, slots=True)
class Manifests:
    """What manifests hold.

    Attributes
    ----------
    given : tuple of Given
        Their pods and workloads.
    others : tuple of (object, place)
        What else that scheduling reads would be in the cluster once they are applied.
    otherwise : tuple of Given
        Those of the others that are asked about.
    written : WrittenObjects
        What they were read from.
    new : tuple of NewObject
        All that an API server has to take first.
    """

    given: tuple[Given, ...]
    others: tuple[tuple[ApiObject, Location], ...]
    otherwise: tuple[Given, ...]
    written: WrittenObjects
    new: tuple[NewObject, ...] = ()

    def beside(self, given: Iterable[Given]) -> Manifests:
        """The same with workloads of the cluster that are asked about as well."""
        return replace(self, given=(*self.given, *given))

    def taken(self, cluster: SchedulingCluster) -> Manifests:
        """The same, where the API server of a cluster takes it all; what it warns of is told on standard error, once.

        Raises
        ------
        ManifestError
            Where it does not.
        """
        for warning in refuse(self.new, cluster.release_choice.release):
            warn_of(warning)
        return replace(self, new=())

    def pods(self, cluster: SchedulingCluster) -> tuple[SchedulingCluster, list[Asked]]:
        """The pods that come of them in a cluster, once they are taken, and the cluster with what comes with the pods.

        Raises
        ------
        ManifestError
            Where one of them is not one that an API server would take, or none of them makes a pod.
        """
        self.taken(cluster)
        every: list[MadePod] = []
        asked: list[Asked] = []
        without: list[str] = []
        for given in self.given:
            made = cluster.pods_of(given.obj, where=given.where)
            if not made:
                without.append(given.shown)
            every += made
            asked += _asked(given, made)
        if without:
            problem = f"{listed(without)}: no node is eligible, so there is no pod"
            hint = "node selector, node affinity and tolerations decide which nodes are"
            if not asked:
                raise ManifestError(problem, hint=hint)
            note(problem)
        return cluster.with_made(every), asked


def _asked(given: Given, made: Sequence[MadePod]) -> Iterable[Asked]:
    workload = None
    if not isinstance(given.obj, Pod):
        n_wanted = sum(one.replicas for one in made)
        workload = WorkloadData(type(given.obj).__name__, given.obj.namespace, given.obj.name, n_wanted)
    where = given.where if given.place is not None else ""
    return [Asked(one.pod, given.arguments, where, workload, one.node, one.replicas) for one in made]


def read_manifests(
    paths: Sequence[str],
    options: Sequence[str],
    snapshots: Sequence[str],
    namespace: str,
    *,
    validation: Validation = Validation.STRICT,
    max_unpacked: int | None = None,
    otherwise: type[ApiObject] | None = None,
) -> Manifests:
    """Read manifests; what scheduling does not read is counted on standard error.

    Parameters
    ----------
    paths : sequence of str
        Those given as arguments.
    options : sequence of str
        Those given with ``-f``.
    snapshots : sequence of str
        The snapshot's paths: only one thing can be read from standard input.
    namespace : str
        The namespace of objects that name none; empty for the default.
    validation : Validation
        What becomes of fields that an API server would not take; of what is not refused, standard error tells.
    max_unpacked : int, optional
        The most bytes that are unpacked of each.
    otherwise : type, optional
        The kind that is asked about where a manifest has no pod and no workload.

    Raises
    ------
    ManifestError
        Where something is wrong with them, or nothing in them can be asked about.
    """
    sources = [*((path, (path,)) for path in paths), *((path, ("-f", path)) for path in options)]
    if [*(path for path, _ in sources), *snapshots].count(STDIN) > 1:
        raise ManifestError("standard input (-) is given twice", hint="name a file for one of them")
    given: list[Given] = []
    others_asked: list[Given] = []
    others: dict[tuple[type, str, str], tuple[ApiObject, Location]] = {}
    left_out: Counter[str] = Counter()
    unread: list[str] = []
    warnings: list[Finding] = []
    written = WrittenObjects()
    new: list[NewObject] = []
    for path, words in sources:
        found = read_manifest(
            path,
            stdin=stdin() if path == STDIN else None,
            left_out=left_out,
            unread=unread,
            max_unpacked=max_unpacked,
            validation=validation,
            warnings=warnings,
            written=written,
            new=new,
        )
        own = [Given(in_namespace(obj, namespace), words, at) for obj, at in found if isinstance(obj, WORKLOADS)]
        rest = [(placed(obj, namespace), at) for obj, at in found if not isinstance(obj, WORKLOADS)]
        given += own
        others |= {(type(obj), obj.namespace, obj.name): (obj, at) for obj, at in rest}
        if otherwise is not None and not own:
            others_asked += [Given(obj, words, at) for obj, at in rest if isinstance(obj, otherwise)]
    for warning in warnings:
        warn_of(warning)
    skipped = ", ".join(f"{n} {kind}" for kind, n in sorted(left_out.items()))
    if sources and not given and not others_asked:
        wanted = WORKLOADS if otherwise is None else (*WORKLOADS, otherwise)
        raise _nothing_to_ask([path for path, _ in sources], [kind.__name__ for kind, _, _ in others], skipped, wanted)
    for what in unread:
        warn(what)
    if skipped:
        note(f"skipped, as scheduling does not read them: {skipped}")
    return Manifests(tuple(given), tuple(others.values()), tuple(others_asked), written, tuple(new))


def load_with_manifests(which: ManifestOptions, chosen: ChosenCluster) -> SchedulingCluster:
    """The cluster with the pods and workloads of manifests created in it, where an API server takes them.

    Raises
    ------
    InputError
        Where something is wrong with either, or the cluster has no nodes, or its pods are not known.
    """
    manifests = read_manifests(
        which.manifests or (),
        which.filename or (),
        chosen.inputs,
        which.namespace,
        validation=which.validation,
        max_unpacked=chosen.source.max_bytes,
    )
    given = [(each.obj, each.place) for each in manifests.given if each.place is not None]
    cluster = chosen.needing_nodes(chosen.load((*manifests.others, *given), manifests.written))
    require_listed(cluster.cluster, "Pod")
    manifests.taken(cluster)
    return cluster


def _nothing_to_ask(
    paths: Sequence[str], kinds: Sequence[str], skipped: str, wanted: tuple[type[ApiObject], ...]
) -> ManifestError:
    counts = ", ".join(f"{n} {kind}" for kind, n in sorted(Counter(kinds).items()))
    held = "; ".join(part for part in (counts, skipped and f"{skipped} (not read)") if part)
    names = listed([kind.__name__ for kind in wanted], "or", most=len(wanted))
    return ManifestError("nothing to ask about", where=", ".join(paths), hint=f"it holds {held}: give a {names}")


def in_namespace(obj: T, namespace: str) -> T:
    """An object that is asked about, in the namespace that the command names.

    Raises
    ------
    ManifestError
        Where the object is of another namespace.
    """
    own = obj.metadata.namespace
    if namespace and own and own != namespace:
        raise ManifestError(
            f"the {type(obj).__name__} {own}/{obj.name} is not of the namespace {namespace} that is given with -n",
            hint="leave -n out, or change the manifest",
        )
    return placed(obj, namespace)

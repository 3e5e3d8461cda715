"""The public face of the package: load a cluster, ask it about pods. The commands are thin over it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from kschedctl.admission.chain import Admitted, admit
from kschedctl.api.defaults import DEFAULT_NAMESPACE
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.errors import ConfigError
from kschedctl.framework.config.load import SchedulerConfiguration, load_configuration
from kschedctl.framework.registry import Registry
from kschedctl.framework.release_choice import ReleaseChoice, choose_release
from kschedctl.plugins.registry import full_registry
from kschedctl.preemption.evaluator import Candidate
from kschedctl.scheduler.aftermath import Aftermath, aftermath
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.pending import Threat, threat
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.scheduler.verify import Verification, verify
from kschedctl.snapshot.load import Snapshot, load_snapshot
from kschedctl.snapshot.location import Location
from kschedctl.snapshot.missing import Missing, find_missing
from kschedctl.snapshot.pod_choice import defaulted, find_pod, given_pod
from kschedctl.whatif.apply import edited
from kschedctl.whatif.edits import Edit
from kschedctl.workloads.made import MadePod
from kschedctl.workloads.pods import pods_of

if TYPE_CHECKING:
    from kschedctl.live.context import LiveContext


class SchedulingCluster:
    """A cluster with a scheduler over it.

    Parameters
    ----------
    snapshot : Snapshot
        The cluster and what its files told besides.
    release_choice : ReleaseChoice
        Whose rules apply, and why.
    configuration : SchedulerConfiguration, optional
        Profiles and their plugins; by default kube-scheduler's own.
    registry : Registry, optional
        The plugins that there are; by default the in-tree ones and those of installed packages.
    admission : bool
        Whether new pods go through admission before they are decided for; else they only get their defaults.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        release_choice: ReleaseChoice,
        configuration: SchedulerConfiguration | None = None,
        registry: Registry | None = None,
        *,
        admission: bool = True,
    ) -> None:
        self.snapshot = snapshot
        self.admission = admission
        self.release_choice = release_choice
        self.registry = registry if registry is not None else full_registry()
        self._scheduler = Scheduler(snapshot.cluster, release_choice.release, configuration, self.registry)

    @property
    def cluster(self) -> Cluster:
        """The cluster as columns."""
        return self.snapshot.cluster

    @property
    def nodes(self) -> Nodes:
        """The nodes, a row each."""
        return self.cluster.nodes

    @property
    def pods(self) -> Pods:
        """The pods that have not finished."""
        return self.cluster.pods

    @property
    def configuration(self) -> SchedulerConfiguration:
        """The scheduler's configuration."""
        return self._scheduler.configuration

    def explain(self, pod: Pod | Mapping[str, Any] | str | Path) -> Decision:
        """Decide where a pod goes, or why it cannot.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            The pod: an object, its manifest as data, ``namespace/name`` of a pod of the cluster, or the path of a
            manifest with one pod.

        Returns
        -------
        Decision
            A pod of the cluster that runs is decided for as if it did not run yet; one of the same name as a new
            one gives way to it.

        Raises
        ------
        ManifestError
            Where there is no such pod, or it is not one that an API server would take.
        """
        return self.decide(self.admit(pod).pod)

    def admit(self, pod: Pod | Mapping[str, Any] | str | Path, *, where: str = "") -> Admitted:
        """The pod that is meant as the scheduler sees it, and what admission did to it; as for ``explain``.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``explain``.
        where : str
            Where the pod was read, for errors.
        """
        written, where = given_pod(self.pods, pod, where)
        found, where = defaulted(written, where)
        index = self._index(found)
        # A pod of the snapshot that has a priority was admitted when it was made.
        is_stored = index is not None and found.spec.priority is not None and found == self.find(self.pods.pod(index))
        if is_stored or not self.admission:
            return Admitted(found, (), (), ())
        return admit(written, self.cluster, release=self.release_choice.release, where=where)

    def decide(self, pod: Pod) -> Decision:
        """Decide for a pod that went through admission; ``explain`` is this for any pod."""
        scheduler = self._scheduler
        index = self._index(pod)
        if index is not None and self.pods.node_row[index] >= 0:
            others = self.cluster.with_pods(removed=[index])
            scheduler = Scheduler(others, self.release_choice.release, self.configuration, self.registry)
        return scheduler.explain(pod)

    def pods_of(self, workload: ApiObject, *, where: str = "") -> tuple[MadePod, ...]:
        """The pods that a controller would make of a workload, to be explained with ``with_made``.

        Raises
        ------
        ManifestError
            Where it is none, or not one that an API server would take.
        """
        return pods_of(workload, self.cluster, where=where)

    def with_made(self, made: Iterable[MadePod]) -> SchedulingCluster:
        """The cluster with what comes with some pods: their controllers and claims. It has not the pods themselves."""
        objects = [obj for one in made for obj in one.objects]
        if not objects:
            return self
        snapshot = replace(self.snapshot, cluster=self.cluster.with_added(objects))
        return SchedulingCluster(
            snapshot, self.release_choice, self.configuration, self.registry, admission=self.admission
        )

    def aftermath(self, decision: Decision, candidate: Candidate) -> Aftermath:
        """What follows when a decision's preemption takes a candidate."""
        scheduler = Scheduler(decision.cluster, decision.release, self.configuration, self.registry)
        return aftermath(scheduler, decision, candidate)

    def threat(self, pod: str) -> Threat:
        """Which pending pods would evict a pod, given as ``namespace/name``.

        Raises
        ------
        ManifestError
            Where there is no such pod.
        """
        namespace, _, name = pod.rpartition("/")
        victim = find_pod(self.pods, name, namespace or DEFAULT_NAMESPACE)
        return threat(self._scheduler, self.pods.index[victim.metadata.namespace, victim.metadata.name])

    def verify(self) -> Verification:
        """Compare our answers for all pods with what the real scheduler did, as far as the snapshot holds it."""
        return verify(self._scheduler)

    def missing(self, pod: Pod | Mapping[str, Any] | str | Path) -> tuple[Missing, ...]:
        """What the snapshot does not have although the answer for a pod depends on it."""
        return find_missing(self.cluster, self.find(pod))

    def node_name(self, pod: Pod) -> str:
        """Where a pod runs in the snapshot; empty where it does not."""
        index = self._index(pod)
        return "" if index is None else self.pods.records[index].node_name

    def find(self, pod: Pod | Mapping[str, Any] | str | Path, *, where: str = "") -> Pod:
        """The pod that is meant, with the defaults of an API server; as for ``explain``.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``explain``.
        where : str
            Where the pod was read, for errors.
        """
        return defaulted(*given_pod(self.pods, pod, where))[0]

    def _index(self, pod: Pod) -> int | None:
        return self.pods.index.get((pod.metadata.namespace, pod.metadata.name))


def load(
    *paths: str | Path,
    kubernetes_version: str = "",
    feature_gates: Mapping[str, bool] | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    stdin: BinaryIO | None = None,
    more: Iterable[tuple[ApiObject, Location]] = (),
    live: LiveContext | None = None,
    edits: Sequence[Edit] = (),
    admission: bool = True,
) -> SchedulingCluster:
    """Load a cluster from a snapshot, or without one from the cluster of a kubectl context.

    Parameters
    ----------
    *paths : str or Path
        Files, folders and archives; ``-`` is standard input.
    kubernetes_version : str, optional
        Whose rules apply, such as ``1.36``; by default those of the cluster's own version.
    feature_gates : mapping of str to bool, optional
        The scheduler's feature gates that are not at their default.
    config : str, Path or mapping, optional
        A KubeSchedulerConfiguration, as a file or as data.
    stdin : BinaryIO, optional
        Standard input.
    more : iterable of (object, place), optional
        Objects that are not in the snapshot and shall be in the cluster.
    live : LiveContext, optional
        Which cluster to ask where no paths are given; by default that of kubectl's current context.
    edits : sequence of Edit, optional
        Changes to try (``kschedctl.whatif.edits``), made one after the other.
    admission : bool
        Whether new pods go through admission before they are decided for; else they only get their defaults.

    Raises
    ------
    InputError
        Where something given is wrong.
    ClusterError
        Where a running cluster cannot be asked.
    UnsupportedError
        For a version or feature gate that is not modelled.

    Examples
    --------
    >>> import kschedctl
    >>> cluster = kschedctl.load("prod/")  # doctest: +SKIP
    >>> decision = cluster.explain("shop/web-7")  # doctest: +SKIP
    >>> decision.best, decision.message  # doctest: +SKIP
    (('node-2',), '')
    """
    snapshot = read_snapshot(*paths, stdin=stdin, more=more, live=live)
    return over(
        snapshot,
        kubernetes_version=kubernetes_version,
        feature_gates=feature_gates,
        config=config,
        edits=edits,
        admission=admission,
    )


def read_snapshot(
    *paths: str | Path,
    stdin: BinaryIO | None = None,
    more: Iterable[tuple[ApiObject, Location]] = (),
    live: LiveContext | None = None,
) -> Snapshot:
    """Read what ``load`` puts a scheduler over; parameters and errors are those of ``load``."""
    return load_snapshot(paths, stdin=stdin, more=more) if paths else _load_live(live, more)


def over(
    snapshot: Snapshot,
    *,
    kubernetes_version: str = "",
    feature_gates: Mapping[str, bool] | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    edits: Sequence[Edit] = (),
    admission: bool = True,
) -> SchedulingCluster:
    """Put a scheduler over what was read; parameters and errors are those of ``load``."""
    cluster = snapshot.cluster
    kubelets = (node.status.node_info.kubelet_version for node in cluster.nodes.objects)
    choice = choose_release(kubernetes_version, cluster.server_version, kubelets)
    choice = replace(choice, release=choice.release.with_features(feature_gates or {}))
    registry = full_registry()
    data: bytes | Mapping[str, Any] | None
    if isinstance(config, str | Path):
        data, where = _read_config(config), str(config)
    else:
        data, where = (snapshot.scheduler_config if config is None else config), ""
    configuration = None
    if data is not None:
        points = registry.extension_points(choice.release)
        configuration = load_configuration(data, release=choice.release, implements=points, where=where)
    if edits:
        made = edited(cluster, edits, release=choice.release)
        snapshot = replace(snapshot, cluster=made.cluster, changes=(*snapshot.changes, *made.changes))
    return SchedulingCluster(snapshot, choice, configuration, registry, admission=admission)


def _load_live(live: LiveContext | None, more: Iterable[tuple[ApiObject, Location]]) -> Snapshot:
    # Most commands ask no running cluster.
    from kschedctl.live.context import LiveContext
    from kschedctl.live.reader import load_live

    return load_live(live or LiveContext(), more=more)


def _read_config(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", where=str(path)) from None

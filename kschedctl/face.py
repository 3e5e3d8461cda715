"""The public face of the package: load a cluster, ask it about pods. The commands are thin over it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from kschedctl.admission.chain import admit
from kschedctl.api.defaults import DEFAULT_NAMESPACE, default_pod
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.quantity import QUANTITY_HINT, QuantityError
from kschedctl.api.selectors import SelectorError
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.interning import PodInterner
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.errors import ConfigError, ManifestError
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
from kschedctl.snapshot.pod_choice import find_pod, is_manifest, only_pod, pod_of
from kschedctl.snapshot.reading import read_manifest
from kschedctl.whatif.apply import edited
from kschedctl.whatif.edits import Edit

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
    """

    def __init__(
        self,
        snapshot: Snapshot,
        release_choice: ReleaseChoice,
        configuration: SchedulerConfiguration | None = None,
        registry: Registry | None = None,
    ) -> None:
        self.snapshot = snapshot
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
        pod = self.find(pod)
        index = self._index(pod)
        # A pod of the snapshot that has a priority was admitted when it was made.
        is_stored = index is not None and pod.spec.priority is not None and pod == self.find(self.pods.pod(index))
        if not is_stored:
            pod = admit(pod, self.cluster, release=self.release_choice.release, where=f"Pod {pod.key}").pod
        scheduler = self._scheduler
        if index is not None and self.pods.node_row[index] >= 0:
            others = self.cluster.with_pods(removed=[index])
            scheduler = Scheduler(others, self.release_choice.release, self.configuration, self.registry)
        return scheduler.explain(pod)

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
        if isinstance(pod, str) and not is_manifest(pod):
            namespace, _, name = pod.rpartition("/")
            pod = find_pod(self.pods, name, namespace or DEFAULT_NAMESPACE)
        elif isinstance(pod, str | Path):
            pod, place = only_pod(read_manifest(pod), str(pod))
            where = where or str(place)
        elif isinstance(pod, Mapping):
            pod = pod_of(pod)
        try:
            pod = default_pod(pod)
            # To read every quantity and selector once, where a wrong one can still be told.
            PodInterner().record(pod)
        except (QuantityError, SelectorError) as error:
            name = f"Pod {pod.metadata.namespace or DEFAULT_NAMESPACE}/{pod.name}"
            where = f"{where} ({name})" if where else name
            hint = QUANTITY_HINT if isinstance(error, QuantityError) else ""
            raise ManifestError(str(error), where=where, path=error.path, hint=hint) from None
        return pod

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
        snapshot, kubernetes_version=kubernetes_version, feature_gates=feature_gates, config=config, edits=edits
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
    return SchedulingCluster(snapshot, choice, configuration, registry)


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

"""The loading of a cluster, from a snapshot or from the running cluster of a kubectl context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from kschedctl.cluster.pod_groups import pod_group_gates
from kschedctl.common.argument_types import checked_arguments
from kschedctl.common.errors import ConfigError
from kschedctl.common.findings import Location
from kschedctl.controllers.disruption import with_computed_status
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD
from kschedctl.questions.face import SchedulingCluster
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.config.types import KubeSchedulerConfiguration
from kschedctl.scheduler.framework.extender import Extender
from kschedctl.scheduler.plugins.registry import full_registry, in_tree_registry
from kschedctl.sources.snapshot.files import file_bytes
from kschedctl.sources.snapshot.load import Snapshot, load_snapshot
from kschedctl.sources.snapshot.original_objects import OriginalObjects
from kschedctl.trials.whatif.edit import Edit

if TYPE_CHECKING:
    from kschedctl.sources.live.kubeconfig import LiveContext


@checked_arguments
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
    max_unpacked: int | None = None,
    call_extenders: bool = False,
    cluster: str = "",
) -> SchedulingCluster:
    """Load a cluster from a snapshot, or without one from the cluster of a kubectl context.

    Parameters
    ----------
    *paths : str or Path
        Files, folders and archives; ``-`` is standard input.
    kubernetes_version : str, optional
        The release whose rules apply, such as ``1.36``; by default the cluster's own version.
    feature_gates : mapping of str to bool, optional
        The scheduler's feature gates that differ from their defaults. The gates of pod groups are on by default if the
        cluster has PodGroups, and GenericWorkload is not given.
    config : str, Path or mapping, optional
        A KubeSchedulerConfiguration, as a file or as data.
    stdin : BinaryIO, optional
        Standard input.
    more : iterable of (object, place), optional
        Objects to add to those of the snapshot.
    live : LiveContext, optional
        The cluster to read if no paths are given; by default that of kubectl's current context.
    edits : sequence of Edit, optional
        Changes to try (``kschedctl.trials.whatif.edits``), made one after the other: changes of the cluster, and of the pods
        that questions are about.
    admission : bool
        True if new pods go through admission before they are decided for; otherwise they only get their defaults.
    max_unpacked : int, optional
        The most bytes to unpack, or to read from a stream without a known end; by default 4 GiB, and no file may
        unpack to more than 250 times its size.
    call_extenders : bool
        True to call the configuration's extenders over HTTP; otherwise answers state that they were not called.
    cluster : str, optional
        The cluster to read, by its name or its path inside, if a folder or archive holds several.

    Raises
    ------
    InputError
        If an argument, or a file that it names, is invalid.
    ClusterError
        If a running cluster cannot be read.
    UnsupportedError
        If a version or feature gate is not modelled.

    Notes
    -----
    On Linux, several processes read a YAML file of 8 MiB or more, one per core, if the program runs no other threads.

    Examples
    --------
    >>> import kschedctl
    >>> cluster = kschedctl.load("fixtures/shop/cluster", kubernetes_version="1.36")
    >>> cluster
    <SchedulingCluster: 15 nodes, 77 pods, rules of Kubernetes 1.36>
    >>> decision = cluster.decide("shop/web-7")
    >>> decision.best, decision.message
    (('node-8',), '')
    """
    snapshot = read_snapshot(
        *paths,
        stdin=stdin,
        more=more,
        live=live,
        max_unpacked=max_unpacked,
        call_extenders=call_extenders,
        cluster=cluster,
    )
    return scheduling_cluster(
        snapshot,
        kubernetes_version=kubernetes_version,
        feature_gates=feature_gates,
        config=config,
        edits=edits,
        admission=admission,
        call_extenders=call_extenders,
    )


def read_snapshot(
    *paths: str | Path,
    stdin: BinaryIO | None = None,
    more: Iterable[tuple[ApiObject, Location]] = (),
    live: LiveContext | None = None,
    max_unpacked: int | None = None,
    call_extenders: bool = False,
    note_of_cache: Callable[[str], None] | None = None,
    cluster: str = "",
) -> Snapshot:
    """Read the snapshot that ``load`` runs a scheduler on; parameters and errors are those of ``load``.

    ``note_of_cache`` receives notes about the cache file; without it, none is used.
    """
    # Requests to extenders contain whole objects.
    written = OriginalObjects() if call_extenders else None
    if paths and note_of_cache is not None and written is None and stdin is None and not more:
        # Most runs use no cache.
        from kschedctl.sources.snapshot.cache import load_cached

        return load_cached(paths, max_unpacked=max_unpacked, cluster=cluster, note=note_of_cache)
    if paths:
        snapshot = load_snapshot(
            paths, stdin=stdin, more=more, max_unpacked=max_unpacked, written=written, cluster=cluster
        )
    else:
        snapshot = _load_live(live, more, written)
    return replace(snapshot, written=written)


def load_settings(config: str | Path) -> KubeSchedulerConfiguration:
    """Read a scheduler's configuration without a cluster, by the rules of the newest release.

    Raises
    ------
    ConfigError
        If kube-scheduler would refuse the configuration.
    """
    points = full_registry().extension_points(LATEST)
    data = file_bytes(config, ConfigError)
    return load_configuration(data, release=LATEST, implements=points, where=str(config)).settings


def scheduling_cluster(
    snapshot: Snapshot,
    *,
    kubernetes_version: str = "",
    feature_gates: Mapping[str, bool] | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    edits: Sequence[Edit] = (),
    admission: bool = True,
    call_extenders: bool = False,
    written: OriginalObjects | None = None,
) -> SchedulingCluster:
    """Return a scheduler over a snapshot; parameters and errors are those of ``load``.

    Disruption budgets without a current status get the one that the disruption controller would write.

    ``written`` is the text that manifests were read from.
    """
    cluster = snapshot.cluster
    kubelets = (node.status.node_info.kubelet_version for node in cluster.nodes.objects)
    choice = choose_release(kubernetes_version, cluster.server_version, kubelets)
    given = feature_gates or {}
    shown = () if GENERIC_WORKLOAD in given else pod_group_gates(cluster, choice.release)
    needs = choice.release.gate_dependencies
    off = {gate for gate, on in given.items() if not on}
    shown = tuple(
        gate
        for gate in shown
        if gate not in given and not choice.release.enabled(gate) and off.isdisjoint(needs.get(gate, ()))
    )
    release = choice.release.with_features({**dict.fromkeys(shown, True), **given})
    choice = replace(choice, release=release, shown_gates=shown)
    data: bytes | Mapping[str, Any] | None
    if isinstance(config, str | Path):
        data, where = file_bytes(config, ConfigError), str(config)
    else:
        data, where = (snapshot.scheduler_config if config is None else config), ""
    registry, configuration = in_tree_registry(), None
    if data is not None:
        # Only a configuration can name plugins of other packages.
        registry = full_registry()
        points = registry.extension_points(choice.release)
        configuration = load_configuration(
            data, release=choice.release, implements=points, args_types=registry.args_types, where=where
        )
    if not admission:
        snapshot = replace(snapshot, changes=(*snapshot.changes, "new pods are not admitted"))
    snapshot = replace(snapshot, cluster=with_computed_status(cluster))
    extenders: Sequence[Extender] = ()
    if call_extenders and configuration is not None:
        # Most runs call no extenders.
        from kschedctl.scheduler.extenders.http_extender import http_extenders

        whole = (snapshot.written or OriginalObjects()).beside(written)
        extenders = http_extenders(configuration, whole, where=where)
    loaded = SchedulingCluster(snapshot, choice, configuration, registry, admission=admission, extenders=extenders)
    return loaded.what_if(*edits) if edits else loaded


def _load_live(
    live: LiveContext | None, more: Iterable[tuple[ApiObject, Location]], written: OriginalObjects | None
) -> Snapshot:
    # Most commands read no running cluster.
    from kschedctl.sources.live.kubeconfig import LiveContext
    from kschedctl.sources.live.reader import load_live

    return load_live(live or LiveContext(), more=more, written=written)

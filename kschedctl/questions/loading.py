"""The loading of a cluster, from a snapshot or from the running cluster of a kubectl context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec.structs import replace

from kschedctl.cluster.pod_groups import pod_group_gates
from kschedctl.common.errors import ConfigError
from kschedctl.common.findings import Location
from kschedctl.controllers.disruption import with_computed_status
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.releases.release import LATEST, Release
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD
from kschedctl.scheduler.framework.config.load import SchedulerConfiguration, load_configuration
from kschedctl.scheduler.framework.config.types import KubeSchedulerConfiguration
from kschedctl.scheduler.framework.extender import Extender
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.plugins.registry import full_registry, in_tree_registry
from kschedctl.sources.snapshot.files import file_bytes
from kschedctl.sources.snapshot.load import Snapshot, load_snapshot
from kschedctl.sources.snapshot.original_objects import OriginalObjects
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.edit import Edit

if TYPE_CHECKING:
    from kschedctl.sources.live.kubeconfig import LiveContext


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
    """Read the snapshot that `kschedctl.load` runs a scheduler on, whose parameters and errors these are.

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
        # Most commands read no running cluster.
        from kschedctl.sources.live.kubeconfig import LiveContext
        from kschedctl.sources.live.reader import load_live

        snapshot = load_live(live or LiveContext(), more=more, written=written)
    return replace(snapshot, written=written)


def load_settings(config: str | Path) -> KubeSchedulerConfiguration:
    """Read a scheduler's configuration without a cluster, by the rules of the newest release.

    Raises ConfigError if kube-scheduler would refuse the configuration.
    """
    points = full_registry().extension_points(LATEST)
    data = file_bytes(config, ConfigError)
    return load_configuration(data, release=LATEST, implements=points, where=str(config)).settings


def loaded_cluster(
    snapshot: Snapshot,
    *,
    kubernetes_version: str = "",
    feature_gates: Mapping[str, bool] | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    edits: Sequence[Edit] = (),
    admission: bool = True,
    call_extenders: bool = False,
    written: OriginalObjects | None = None,
) -> LoadedCluster:
    """Return a scheduler over a snapshot; parameters and errors are those of ``kschedctl.load``.

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
    registry, configuration, configure = in_tree_registry(), None, None
    if data is not None:
        # Only a configuration can name plugins of other packages.
        registry = full_registry()
        configure = partial(_configuration, data, registry, where)
        configuration = configure(choice.release)
    if not admission:
        snapshot = replace(snapshot, changes=(*snapshot.changes, "new pods are not admitted"))
    snapshot = replace(snapshot, cluster=with_computed_status(cluster))
    extenders: Sequence[Extender] = ()
    if call_extenders and configuration is not None:
        # Most runs call no extenders.
        from kschedctl.scheduler.extenders.http_extender import http_extenders

        whole = (snapshot.written or OriginalObjects()).beside(written)
        extenders = http_extenders(configuration, whole, where=where)
    loaded = LoadedCluster(
        snapshot, choice, configuration, registry, admission=admission, extenders=extenders, configure=configure
    )
    return loaded.with_edits(*edits) if edits else loaded


def _configuration(
    data: bytes | Mapping[str, Any], registry: Registry, where: str, release: Release
) -> SchedulerConfiguration:
    points = registry.extension_points(release)
    return load_configuration(data, release=release, implements=points, args_types=registry.args_types, where=where)

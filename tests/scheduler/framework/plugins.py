"""Plugins with fixed results, for tests of the framework."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.framework.config.profile import Profile
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extender import Extender
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    Plugin,
    PluginError,
    PostFilterPlugin,
    PostFilterResult,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
)
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import Code, Rejections, Status
from kschedctl.scheduler.framework.waiting_pods import WaitingPods


def make_plugin(name: str, *bases: type[Plugin], **methods: Any) -> type[Plugin]:
    """Return a plugin class."""
    return type(name, bases, {"name": name, **methods})


def pre_filtering(name: str, code: Code = Code.SUCCESS, reason: str = "", nodes: str | None = None) -> type[Plugin]:
    """Return a plugin whose PreFilter returns a status, or a set of nodes."""
    names = None if nodes is None else frozenset(nodes.split())
    result = PreFilterResult(Status(code, (reason,) if reason else ()), names)

    def pre_filter(self: Plugin, state: CycleState, pod: Pod) -> PreFilterResult:
        return result

    return make_plugin(name, PreFilterPlugin, pre_filter=pre_filter)


def filtering(name: str, verdicts: Mapping[str, Status]) -> type[Plugin]:
    """Return a plugin whose Filter returns the given statuses by node, and Success for other nodes."""

    def filter_(self: Plugin, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        names = [self.handle.cluster.nodes.names[row] for row in nodes.rows]
        statuses = tuple(verdicts.values())
        which = [list(verdicts).index(node) if node in verdicts else -1 for node in names]
        return Rejections.choose(np.array(which, dtype=np.int64), statuses)

    return make_plugin(name, FilterPlugin, filter=filter_)


def failing(name: str, *bases: type[Plugin]) -> type[Plugin]:
    """Return a plugin that ends the cycle with an error at every extension point."""

    def fail(self: Plugin, *_: object) -> Any:
        raise PluginError("out of order")

    methods = ("pre_filter", "filter", "pre_score", "score")
    return make_plugin(name, *bases, **dict.fromkeys(methods, fail))


def post_filtering(name: str, code: Code, *reasons: str, nominated: tuple[str, ...] = ()) -> type[Plugin]:
    """Return a plugin whose PostFilter returns a status."""
    result = PostFilterResult(Status(code, reasons), nominated)

    def post_filter(self: Plugin, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFilterResult:
        return result

    return make_plugin(name, PostFilterPlugin, post_filter=post_filter)


def scoring(
    name: str, *given: int, pre_score: Status | None = None, dtype: type[np.integer[Any]] = np.int64
) -> type[Plugin]:
    """Return a plugin whose scores are given by node row."""

    def pre(self: Plugin, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        return pre_score or Status()

    def score(self: Plugin, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        return cast("Int64Array", np.array(given, dtype=dtype)[rows])

    return make_plugin(name, PreScorePlugin, ScorePlugin, pre_score=pre, score=score)


def make_framework(
    cluster: Cluster,
    *plugins: type[Plugin],
    weights: Mapping[str, int] | None = None,
    waiting_pods: WaitingPods | None = None,
    extenders: Sequence[Extender] = (),
) -> Framework:
    """Return a framework with these plugins, in this order, at all extension points that they implement."""
    points: dict[ExtensionPoint, tuple[str, ...]] = {}
    for plugin in plugins:
        for point in plugin.extension_points(LATEST):
            points[point] = (*points.get(point, ()), plugin.name)
    weighted = {plugin.name: 1 for plugin in plugins} | dict(weights or {})
    profile = Profile("default-scheduler", points, weighted, {}, None, placement_weights=weighted)
    registry = {plugin.name: plugin for plugin in plugins}
    return Framework(profile, registry, cluster, LATEST, waiting_pods=waiting_pods, extenders=extenders)

"""Plugins for tests of the framework, made of what they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.arrays import Int64Array
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.framework.config.profile import Profile
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.extender import Extender
from kschedctl.framework.extension_point import ExtensionPoint
from kschedctl.framework.interface import (
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
from kschedctl.framework.node_statuses import NodeStatuses
from kschedctl.framework.runtime import Framework
from kschedctl.framework.status import Code, Rejections, Status
from kschedctl.framework.waiting_pods import WaitingPods
from kschedctl.releases.release import LATEST


def make_plugin(name: str, *bases: type[Plugin], **methods: Any) -> type[Plugin]:
    """A plugin class."""
    return type(name, bases, {"name": name, **methods})


def pre_filtering(name: str, code: Code = Code.SUCCESS, reason: str = "", nodes: str | None = None) -> type[Plugin]:
    """A plugin whose PreFilter gives a status, or leaves some nodes."""
    names = None if nodes is None else frozenset(nodes.split())
    result = PreFilterResult(Status(code, (reason,) if reason else ()), names)

    def pre_filter(self: Plugin, state: CycleState, pod: Pod) -> PreFilterResult:
        return result

    return make_plugin(name, PreFilterPlugin, pre_filter=pre_filter)


def filtering(name: str, verdicts: Mapping[str, Status]) -> type[Plugin]:
    """A plugin whose Filter says something of some nodes; an error is raised."""

    def filter_(self: Plugin, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        names = [self.handle.cluster.nodes.names[row] for row in nodes.rows]
        statuses = tuple(verdicts.values())
        which = [list(verdicts).index(node) if node in verdicts else -1 for node in names]
        return Rejections.choose(np.array(which, dtype=np.int64), statuses)

    return make_plugin(name, FilterPlugin, filter=filter_)


def failing(name: str, *bases: type[Plugin]) -> type[Plugin]:
    """A plugin that ends the cycle with an error wherever it is asked."""

    def fail(self: Plugin, *_: object) -> Any:
        raise PluginError("out of order")

    methods = ("pre_filter", "filter", "pre_score", "score")
    return make_plugin(name, *bases, **dict.fromkeys(methods, fail))


def post_filtering(name: str, code: Code, *reasons: str, nominated: tuple[str, ...] = ()) -> type[Plugin]:
    """A plugin whose PostFilter gives a status."""
    result = PostFilterResult(Status(code, reasons), nominated)

    def post_filter(self: Plugin, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFilterResult:
        return result

    return make_plugin(name, PostFilterPlugin, post_filter=post_filter)


def scoring(name: str, *given: int, pre_score: Status | None = None) -> type[Plugin]:
    """A plugin that scores nodes by row."""

    def pre(self: Plugin, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        return pre_score or Status()

    def score(self: Plugin, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        return np.array(given, dtype=np.int64)[rows]

    return make_plugin(name, PreScorePlugin, ScorePlugin, pre_score=pre, score=score)


def make_framework(
    cluster: Cluster,
    *plugins: type[Plugin],
    weights: Mapping[str, int] | None = None,
    waiting_pods: WaitingPods | None = None,
    extenders: Sequence[Extender] = (),
) -> Framework:
    """A framework of some plugins, at all points that they extend, in this order."""
    points: dict[ExtensionPoint, tuple[str, ...]] = {}
    for plugin in plugins:
        for point in plugin.extension_points(LATEST):
            points[point] = (*points.get(point, ()), plugin.name)
    weighted = {plugin.name: 1 for plugin in plugins} | dict(weights or {})
    profile = Profile("default-scheduler", points, weighted, {}, None)
    registry = {plugin.name: plugin for plugin in plugins}
    return Framework(profile, registry, cluster, LATEST, waiting_pods=waiting_pods, extenders=extenders)

"""A probe of a plugin: runs the plugin alone in a framework and collects all its results for a pod."""

from dataclasses import dataclass

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.config.profile import Profile
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    Plugin,
    PluginError,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import Code, Rejections, Status


@dataclass(frozen=True)
class PluginSubject:
    """The plugin to check.

    Attributes
    ----------
    plugin : type of Plugin
        The class of the plugin.
    args : msgspec.Struct or None
        The plugin's arguments.
    release : Release
        The Kubernetes release whose rules apply.
    """

    plugin: type[Plugin]
    args: msgspec.Struct | None
    release: Release

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.plugin.name

    def over(self, cluster: Cluster) -> Plugin:
        """Return a new plugin object over a cluster, in a framework of its own."""
        points = self.plugin.extension_points(self.release)
        args = {} if self.args is None else {self.name: self.args}
        plugins = dict.fromkeys(points, (self.name,))
        profile = Profile("default-scheduler", plugins, {self.name: 1}, args, None)
        framework = Framework(profile, {self.name: self.plugin}, cluster, self.release)
        return self.plugin(self.args, framework.handle)


@dataclass(frozen=True)
class PluginAnswers:
    """The results of a plugin for a pod.

    Attributes
    ----------
    pre_enqueue, pre_filter, pre_score : Status
        The statuses of these extension points; Success if the plugin does not implement the extension point.
    searched : frozenset of str, optional
        The nodes that PreFilter allows; ``None`` for all nodes.
    verdicts : dict of str to Status
        The status of Filter, by node.
    raw, scores : dict of str to int
        The scores before and after NormalizeScore, by node.
    error : str
        The error of Score or NormalizeScore; empty if there is none.
    """

    pre_enqueue: Status
    pre_filter: Status
    searched: frozenset[str] | None
    verdicts: dict[str, Status]
    pre_score: Status
    raw: dict[str, int]
    scores: dict[str, int]
    error: str


def prepare(plugin: Plugin, state: CycleState, pod: Pod) -> tuple[Status, frozenset[str] | None]:
    """Run PreFilter and return its status and the nodes that it allows; convert a `PluginError` to an Error status."""
    if not isinstance(plugin, PreFilterPlugin):
        return Status(), None
    try:
        result = plugin.pre_filter(state, pod)
    except PluginError as error:
        return Status(Code.ERROR, (str(error),)), None
    return result.status, result.node_names


def run_filter(plugin: Plugin, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
    """Run Filter over the worlds of an overlay; a plugin without Filter lets every node pass."""
    if not isinstance(plugin, FilterPlugin):
        return Rejections.everywhere(len(nodes), Status())
    try:
        return plugin.filter(state, pod, nodes)
    except PluginError as error:
        return Rejections.everywhere(len(nodes), Status(Code.ERROR, (str(error),)))


def prepare_scores(plugin: Plugin, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
    """Run PreScore and return its status; Success if the plugin has no PreScore."""
    return plugin.pre_score(state, pod, rows) if isinstance(plugin, PreScorePlugin) else Status()


def ask(plugin: Plugin, cluster: Cluster, pod: Pod) -> PluginAnswers:
    """Run all extension points of a plugin for a pod, over all nodes of its cluster."""
    state = CycleState()
    names = cluster.nodes.names
    pre_enqueue = plugin.pre_enqueue(pod) if isinstance(plugin, PreEnqueuePlugin) else Status()
    pre_filter, searched = prepare(plugin, state, pod)
    verdicts: dict[str, Status] = {}
    if pre_filter.code is Code.SUCCESS:
        rejections = run_filter(plugin, state, pod, cluster.overlay())
        verdicts = {name: rejections.status(row) for row, name in enumerate(names)}
    rows = np.arange(len(names), dtype=np.int64)
    pre_score = prepare_scores(plugin, state, pod, rows)
    raw: dict[str, int] = {}
    scores: dict[str, int] = {}
    error = ""
    if isinstance(plugin, ScorePlugin) and pre_score.code is Code.SUCCESS:
        try:
            given = plugin.score(state, pod, rows)
            raw = dict(zip(names, given.tolist(), strict=True))
            scores = dict(zip(names, plugin.normalize_score(state, pod, given).tolist(), strict=True))
        except PluginError as failure:
            error = str(failure)
    return PluginAnswers(pre_enqueue, pre_filter, searched, verdicts, pre_score, raw, scores, error)

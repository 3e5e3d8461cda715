"""The changes that would move a pod to a node that it fits on: the score gap to the best node, and single changes.

The changes tried are one more preferred term of node affinity, with the smallest weight that suffices; the
``PreferNoSchedule`` taints that cost the node points, removed or tolerated; and for each Score plugin of the profile
the sufficient weight nearest to its own. The pod is decided for again with each change. A change is reported if the
node is then the only best one.
"""

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import msgspec
import numpy as np

from kschedctl.objects.pod import PREFER_NO_SCHEDULE, tolerated
from kschedctl.objects.selectors import NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from kschedctl.questions.answer_parts import ThenData
from kschedctl.questions.explain.answer import PluginPointsData, PreferenceData, SuggestedChangeData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import SchedulerConfiguration
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND, KubeSchedulerProfile
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.remedy import (
    Change,
    Operation,
    Patch,
    Remedy,
    RemedyContext,
    add_operation,
    remove_operation,
)
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.framework.scoring import Scores
from kschedctl.scheduler.plugins.taint_toleration import taint_remedies
from kschedctl.trials.whatif.patches import make_changes

#: The largest weight of a preferred term that the API server accepts.
_MOST_PREFERRED: Final = 100
_MOST_WEIGHT: Final = 2**31 - 1
_NODE_AFFINITY: Final = "NodeAffinity"
_TERMS: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def prefer(scheduler: Scheduler, decision: Decision, node: str) -> PreferenceData:
    """Find the changes that would move a pod to a node.

    Raises InputError if the cluster has no such node.
    """
    fits, is_best, row = decision.node(node).feasible, node in decision.best, decision.cluster.nodes.row[node]
    scores = decision.scores
    if scores is None or row not in scores.rows or len(scores.rows) < 2 or not decision.best:
        return PreferenceData(node, fits, is_best)
    at = int(np.flatnonzero(scores.rows == row)[0])
    names = decision.cluster.nodes.names
    others = [i for i in range(len(scores.rows)) if i != at]
    rival = min(others, key=lambda i: (-int(scores.total[i]), names[scores.rows[i]]))
    points = tuple(
        PluginPointsData(plugin, *(int(normalized[i]) * scores.weights[plugin] for i in (at, rival)))
        for plugin, normalized in scores.normalized.items()
    )
    moves = () if decision.best == (node,) else tuple(_Trial(scheduler, decision, node).moves(scores, at))
    here, there = (int(scores.total[i]) for i in (at, rival))
    return PreferenceData(node, fits, is_best, names[scores.rows[rival]], here, there, points, moves)


class _Trial:
    """A trial of single changes, each decided for again."""

    def __init__(self, scheduler: Scheduler, decision: Decision, node: str) -> None:
        self._scheduler = scheduler
        self._decision = decision
        self._pod = decision.pod
        self._node = node
        row = decision.cluster.nodes.row[node]
        self._context = RemedyContext(decision.pod, decision.cluster, decision.release, row)

    def moves(self, scores: Scores, at: int) -> Iterator[SuggestedChangeData]:
        """Yield the changes of the pod, the node or the profile that make the node the only best one."""
        yield from self._preferred()
        for taint in dict.fromkeys(self._context.node.spec.taints):
            if taint.effect != PREFER_NO_SCHEDULE or tolerated(self._pod.spec.tolerations, taint):
                continue
            for remedy in taint_remedies(self._context, taint):
                after = self._decision_after(remedy)
                if self._moves(after):
                    yield _change(remedy.summary, remedy.scope, remedy.changes, after)
        found = sorted(self._weights(scores, at), key=lambda change: abs(change[1] - change[2]))
        for plugin, weight, before in found:
            move = self._weighted(plugin, weight, before)
            if move is not None:
                yield move

    def _moves(self, after: Decision) -> bool:
        return after.best == (self._node,)

    def _decision_after(self, remedy: Remedy) -> Decision:
        """Return the decision with a remedy's changes made."""
        made = make_changes(self._decision.cluster, self._pod, remedy.changes)
        return self._scheduler.moved(made.cluster).decide(made.pod)

    def _preferred(self) -> Iterator[SuggestedChangeData]:
        """Yield one more preferred term with the smallest sufficient weight.

        The weight is found by bisection, as the effect of the term grows with it.
        """
        if _NODE_AFFINITY not in self._decision.framework.profile.weights:
            return
        low, high = 1, _MOST_PREFERRED
        remedy = self._with_preferred(high)
        after = self._decision_after(remedy)
        if not self._moves(after):
            return
        while low < high:
            middle = (low + high) // 2
            lighter = self._with_preferred(middle)
            tried = self._decision_after(lighter)
            if self._moves(tried):
                high, after, remedy = middle, tried, lighter
            else:
                low = middle + 1
        yield _change(remedy.summary, remedy.scope, remedy.changes, after)

    def _with_preferred(self, weight: int) -> Remedy:
        field = NodeSelectorRequirement(key="metadata.name", operator="In", values=(self._node,))
        term = PreferredSchedulingTerm(weight=weight, preference=NodeSelectorTerm(match_fields=(field,)))
        summary = f"prefer {self._node} by node affinity with weight {weight}"
        operation = appended(msgspec.to_builtins(self._pod), term, "spec", "affinity", "nodeAffinity", _TERMS)
        return self._context.pod_patch(summary, operation, risk=Risk.REDUCED, family="prefer")

    def _weights(self, scores: Scores, at: int) -> Iterator[tuple[str, int, int]]:
        """Yield per plugin the nearest weight with which the node scores more than any other, and the old weight."""
        others = np.arange(len(scores.rows)) != at
        margin = scores.total[at] - scores.total[others]
        for plugin, before in self._decision.framework.profile.weights.items():
            if plugin not in scores.normalized:
                continue
            gap = scores.normalized[plugin][at] - scores.normalized[plugin][others]
            if (margin[gap == 0] <= 0).any():
                continue
            # margin + change * gap > 0 for every other node.
            least = max((-margin[gap > 0] // gap[gap > 0] + 1).tolist(), default=-before)
            most = min((-(-margin[gap < 0] // -gap[gap < 0]) - 1).tolist(), default=_MOST_WEIGHT - before)
            least, most = max(least, -before), min(most, _MOST_WEIGHT - before)
            if least <= most:
                change = least if least > 0 else most if most < 0 else 0
                if change:
                    yield plugin, before + change, before

    def _weighted(self, plugin: str, weight: int, before: int) -> SuggestedChangeData | None:
        """Return the change of one weight if deciding again confirms it; a weight of 0 disables the plugin's score."""
        configuration = self._scheduler.configuration
        name = self._pod.spec.scheduler_name
        profile = configuration.profiles[name]
        if weight:
            changed = msgspec.structs.replace(profile, weights=MappingProxyType({**profile.weights, plugin: weight}))
        else:
            left = {other: own for other, own in profile.weights.items() if other != plugin}
            scoring = tuple(other for other in profile.plugins[ExtensionPoint.SCORE] if other != plugin)
            plugins = MappingProxyType({**profile.plugins, ExtensionPoint.SCORE: scoring})
            changed = msgspec.structs.replace(profile, weights=MappingProxyType(left), plugins=plugins)
        profiles = MappingProxyType({**configuration.profiles, name: changed})
        old = self._scheduler
        scheduler = Scheduler(
            old.cluster, old.release, replace(configuration, profiles=profiles), old.registry, extenders=old.extenders
        )
        after = scheduler.decide(self._pod)
        if not self._moves(after):
            return None
        what = f"give {plugin} weight {weight} instead of {before}" if weight else f"disable the score of {plugin}"
        patch = Patch(API_VERSION, KIND, "", patch=weight_patch(configuration, name, plugin, weight))
        return _change(f"{what} in profile {name}", RemedyScope.CLUSTER, (patch,), after)


def _change(summary: str, scope: RemedyScope, changes: tuple[Change, ...], after: Decision) -> SuggestedChangeData:
    totals = sorted(after.scores.total.tolist(), reverse=True) if after.scores is not None else []
    best, second, *_ = (*totals, 0, 0)
    data: Any = msgspec.to_builtins(changes)
    return SuggestedChangeData(summary, scope, (), (), tuple(data), ThenData(after.best), best, second)


def weight_patch(
    configuration: SchedulerConfiguration, scheduler_name: str, plugin: str, weight: int
) -> tuple[Operation, ...]:
    """Return the change of a weight in a KubeSchedulerConfiguration as operations of RFC 6902.

    Args:
        weight: The weight; 0 disables the plugin's score.
    """
    written = configuration.settings.profiles
    at = [profile.scheduler_name for profile in written].index(scheduler_name)
    which, item = ("enabled", {"name": plugin, "weight": weight}) if weight else ("disabled", {"name": plugin})
    if written == (KubeSchedulerProfile(scheduler_name=scheduler_name),):
        # A single default profile may be absent from the file.
        return (add_operation([{"schedulerName": scheduler_name, "plugins": {"score": {which: [item]}}}], "profiles"),)
    named = [one.name for one in written[at].plugins.score.enabled]
    own = ("profiles", at, "plugins", "score", "enabled", named.index(plugin)) if plugin in named else ()
    if own and weight:
        return (add_operation(weight, *own, "weight"),)
    plugins: Any = msgspec.to_builtins(written[at].plugins)
    document = {"profiles": {at: {"plugins": plugins}}}
    operation = appended(document, item, "profiles", at, "plugins", "score", which)
    return (remove_operation(*own), operation) if own else (operation,)


def appended(document: Any, value: object, *path: str | int) -> Operation:
    """Return the operation that appends to a list in a document and creates missing parents of the list."""
    there = document
    for i, step in enumerate(path):
        if not there.get(step):
            nested: object = [msgspec.to_builtins(value)]
            for missing in reversed(path[i + 1 :]):
                nested = {missing: nested}
            return add_operation(nested, *path[: i + 1])
        there = there[step]
    return add_operation(value, *path, "-")

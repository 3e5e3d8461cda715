"""Charts of a best placement: the goals on both sides, the nodes with other pods, and the pods per zone."""

from __future__ import annotations

from typing import Final

from kschedctl.questions.answers.nodes import NodesOverview
from kschedctl.questions.answers.optimum import Emptied, Optimum, Purchased
from kschedctl.questions.presentation.changes_map import NodeChange, by_node, changes_map, pods_line, pods_map
from kschedctl.questions.presentation.charts import Kind
from kschedctl.questions.presentation.document import Document
from kschedctl.questions.presentation.tone import Tone
from kschedctl.questions.presentation.zone_bars import zone_bars

_ONLY_BEST: Final = Kind("pods in the best placement only", Tone.GOOD)
_ONLY_SCHEDULER: Final = Kind("pods with the scheduler only", Tone.BAD)
_OTHER: Final = Kind("other pods than with the scheduler", Tone.MIXED)
_SAME: Final = Kind("the same pods in both placements")
_EMPTIED: Final = Kind("emptied")
_CORDONED: Final = Kind("empty, to be cordoned")
_GIVEN_UP: Final = Kind("no simulated drain empties it", Tone.CAUTION)
_BOUGHT: Final = Kind("bought")


def optimum_charts(answer: Optimum, overview: NodesOverview | None) -> Document:
    """Lay out the nodes and zones of both placements; nothing without ``overview``."""
    if overview is None or not answer.placements:
        return
    ours = by_node((each.node, each.pod) for each in answer.placements)
    theirs = by_node((each.multi_step_node, each.pod) for each in answer.placements)
    evicted = by_node((each.node, each.pod) for each in answer.evicted)
    changes = {}
    for name in dict.fromkeys((*ours, *theirs, *evicted)):
        best, scheduler = ours.get(name, []), theirs.get(name, [])
        same = set(best) == set(scheduler)
        kind = _SAME if same else _ONLY_BEST if not scheduler else _ONLY_SCHEDULER if not best else _OTHER
        lines = (
            *(f"best placement: {line}" for line in pods_line("arrive", best)),
            *(f"scheduler: {line}" for line in pods_line("arrive", scheduler)),
            *pods_line("leave", evicted.get(name, [])),
        )
        changes[name] = NodeChange(kind, lines)
    yield changes_map(overview, changes)
    first, second = ((each.multi_step_node for each in answer.placements), (each.node for each in answer.placements))
    yield zone_bars("Placed pods by zone", ("with the scheduler", "in the best placement"), first, second, overview)


def purchase_charts(answer: Purchased, overview: NodesOverview | None) -> Document:
    """Lay out the nodes with the bought ones; nothing without ``overview``."""
    if overview is not None and (answer.placements or answer.nodes):
        bought = {each.node: NodeChange(_BOUGHT, (each.kind,)) for each in answer.nodes}
        yield pods_map(overview, ((each.node, each.pod) for each in answer.placements), (), bought)


def emptied_charts(answer: Emptied, overview: NodesOverview | None) -> Document:
    """Lay out the nodes that can be emptied, and those that their pods move to; nothing without ``overview``."""
    if overview is None or not answer.nodes:
        return
    states = {each.node: NodeChange(_EMPTIED) for each in answer.nodes}
    states |= {name: NodeChange(_CORDONED) for name in answer.cordoned}
    why = answer.obstacles
    states |= {name: NodeChange(_GIVEN_UP, (why[name],) if name in why else ()) for name in answer.given_up}
    leave = ((each.node, pod) for each in answer.nodes for pod in each.evicted)
    yield pods_map(overview, ((node, pod) for pod, node in answer.placements.items()), leave, states)

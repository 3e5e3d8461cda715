"""The charts of preemption: a map of the nodes by their part in it, and the candidates with what decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kschedctl.common.wording import counted
from kschedctl.questions.answers.nodes import NodesOverview
from kschedctl.questions.answers.preempt import Cause, PreemptCandidateData, Preemption, VictimData
from kschedctl.questions.answers.preempt_words import lost_words, violated
from kschedctl.questions.presentation.charts import Bar, Bars, Colouring, Kind, NodeMap, Segment
from kschedctl.questions.presentation.document import Table, table
from kschedctl.questions.presentation.node_map import NodeResult, rejection_lines, results_map
from kschedctl.questions.presentation.tone import Tone

#: The most candidates with a bar, and with a row in the table.
_MOST_BARS: Final = 20
_MOST_ROWS: Final = 200
_BEST: Final = "best candidate"
_CAUSES: Final = {
    Cause.STILL_DOES_NOT_FIT: "does not fit even without its pods of lower priority",
    Cause.DECLINED: "declined by an extender",
    Cause.NO_LOWER_PRIORITY: "has no pods of lower priority",
    Cause.UNRESOLVABLE: "removing pods does not help",
    Cause.ERROR: "error",
}
_VICTIMS: Final = (
    Kind("victims whose eviction violates a budget", Tone.BAD),
    Kind("other victims", Tone.MIXED),
    Kind("already being deleted", Tone.FAINT),
)


def preemption_map(answer: Preemption, overview: NodesOverview) -> NodeMap:
    """Return a map of the nodes: best candidates, others by the criterion at which they lost, and the hopeless ones."""
    results = {each.name: _candidate_result(each, answer) for each in answer.candidates}
    for node in answer.not_helpful:
        results[node.name] = NodeResult((_CAUSES[node.cause], node.plugin or "none"), rejection_lines(node))
    criteria = sorted({(at.number, _criterion(at.number, at.criterion)) for each in answer.candidates
                       if (at := each.lost_at) is not None})  # fmt: skip
    kinds = (
        Kind(_BEST, Tone.GOOD),
        *(Kind(name) for _, name in criteria),
        *(Kind(name) for name in _CAUSES.values()),
    )
    plugins = sorted({node.plugin or "none" for node in answer.not_helpful} | {"none"})
    colourings = (
        Colouring("part in preemption", kinds),
        Colouring("plugin that rejects the pod", tuple(map(Kind, plugins))),
    )
    return results_map(overview.nodes, results, colourings, answer.pod.requests)


def _candidate_result(candidate: PreemptCandidateData, answer: Preemption) -> NodeResult:
    victims = f"evicts {counted(len(candidate.victims), 'pod')}"
    if candidate.lost_at is None:
        return NodeResult((_BEST, "none"), (victims,))
    name = _criterion(candidate.lost_at.number, candidate.lost_at.criterion)
    return NodeResult((name, "none"), (f"lost at {lost_words(candidate, candidate.lost_at, answer)}", victims))


def _criterion(number: int, criterion: str) -> str:
    return f"lost at {number}. {criterion}"


def candidates_bars(answer: Preemption) -> Bars:
    """Return the number of victims of each candidate, and the criterion that decided."""
    longest = max(len(each.victims) for each in answer.candidates) or 1
    shown = answer.candidates[:_MOST_BARS]
    left = len(answer.candidates) - len(shown)
    return Bars(
        title="Candidates",
        measure="victims",
        headings=("node", "victims", "decided by"),
        kinds=_VICTIMS,
        rows=tuple(_bar(each, answer, longest) for each in shown),
        note=f"the best {len(shown)} of {counted(len(answer.candidates), 'candidate')}" if left else "",
        numbers=False,
    )


def _bar(candidate: PreemptCandidateData, answer: Preemption, longest: int) -> Bar:
    victims = candidate.victims
    violating = sum(victim.violates for victim in victims)
    stopping = sum(victim.terminating and not victim.violates for victim in victims)
    sizes = (violating, len(victims) - violating - stopping, stopping)
    segments = tuple(Segment(i, size, counted(size, "pod")) for i, size in enumerate(sizes) if size)
    lost = candidate.lost_at
    decided = "best" if lost is None else lost_words(candidate, lost, answer)
    return Bar((candidate.name, counted(len(victims), "pod"), decided), segments, longest)


def criteria_table(answer: Preemption) -> Table:
    """Return the numbers of each candidate that kube-scheduler compares, in its order."""
    rows = []
    for candidate in answer.candidates[:_MOST_ROWS]:
        priorities = [victim.priority for victim in candidate.victims]
        numbers = (candidate.pdb_violations, max(priorities, default=0), sum(priorities), len(priorities))
        rows.append((candidate.name, *map(str, numbers), _start(candidate.victims), violated(candidate.victims)))
    headings = (
        "candidate",
        "1. budget violations",
        "2. highest priority",
        "3. sum of priorities",
        "4. victims",
        "5. start of the most important victims",
        "violates",
    )
    return table(headings, rows, numeric=range(1, 5), identifiers=(0,))


def _start(victims: Sequence[VictimData]) -> str:
    """Return the earliest start of the victims of the highest priority; ``-`` if none has started."""
    highest = max((victim.priority for victim in victims), default=0)
    starts = [v.started_at for v in victims if v.priority == highest and v.started_at is not None]
    return f"{min(starts):%Y-%m-%d %H:%M:%S} UTC" if starts else "-"

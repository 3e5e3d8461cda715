"""The difference between our answer for a pod and kube-scheduler's.

A smaller cluster has other numbers of nodes. Therefore only reasons that one side alone gives are compared; the numbers
count if both sides give the same reasons.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

import msgspec

from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.framework.status import Code

GATED: Final = "SchedulingGated"
FAILED: Final = "SchedulerError"
#: The end of a stored message that was cut off.
CUT: Final = " ..."
#: The beginning of the part about preemption in a message.
_PREEMPTION: Final = re.compile(r"(?:, pod group |[^\s.][^.]*, )?preemption: ")
_NODES: Final = re.compile(r"0/\d+ nodes are available: ?")
_BETWEEN: Final = re.compile(r", (?=\d+ )")
_COUNTED: Final = re.compile(r"(\d+) (.*)", re.DOTALL)


class Theirs(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The answer of kube-scheduler for a pod.

    Attributes
    ----------
    release : str
        The Kubernetes release of our answer.
    feature_gates : dict of str to bool
        The feature gates that differ from their defaults.
    reason, message : str
        The reason and message of the condition PodScheduled of a pending pod.
    node : str
        The node of a running pod.
    """

    release: str = ""
    feature_gates: dict[str, bool] = {}
    reason: str = ""
    message: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The difference between two answers.

    Attributes
    ----------
    outcome : Outcome
        The outcome of our answer.
    only_ours, only_theirs : frozenset of str
        The reasons that only one side gives.
    ours, theirs : frozenset of (str, int)
        If the reasons are the same, the number of nodes of each; else empty.
    """

    outcome: Outcome
    only_ours: frozenset[str] = frozenset()
    only_theirs: frozenset[str] = frozenset()
    ours: frozenset[tuple[str, int]] = frozenset()
    theirs: frozenset[tuple[str, int]] = frozenset()

    def resembles(self, other: Disagreement) -> bool:
        """Report whether another difference is the same except for names."""
        return self.outcome is other.outcome and all(
            len(a) == len(b)
            for a, b in (
                (self.only_ours, other.only_ours),
                (self.only_theirs, other.only_theirs),
                (self.ours, other.ours),
                (self.theirs, other.theirs),
            )
        )


def disagreement(theirs: Theirs, decision: Decision) -> Disagreement | None:
    """Return the difference between our answer and kube-scheduler's; ``None`` if there is none."""
    outcome = decision.outcome
    if theirs.node:
        return _about_node(theirs.node, decision)
    said_outcome = {GATED: Outcome.GATED, FAILED: Outcome.ERROR}.get(theirs.reason, Outcome.UNSCHEDULABLE)
    if outcome is not Outcome.UNSCHEDULABLE or said_outcome is not outcome:
        # Pods that are feasible or gated, or whose cycle failed, have no reasons to compare.
        given = frozenset(_reasons(theirs.message)[0]) if said_outcome is Outcome.UNSCHEDULABLE else frozenset()
        return None if said_outcome is outcome else Disagreement(outcome, frozenset(), given)
    ours, others = _reasons(decision.message), _reasons(theirs.message)
    for a, b in zip(ours, others, strict=True):
        if a.keys() != b.keys():
            return Disagreement(outcome, frozenset(a.keys() - b.keys()), frozenset(b.keys() - a.keys()))
    for a, b in zip(ours, others, strict=True):
        if a != b:
            return Disagreement(outcome, ours=frozenset(a.items()), theirs=frozenset(b.items()))
    return None


def overcounted(theirs: Theirs, decision: Decision) -> frozenset[str]:
    """Return the reasons of filters that we give for more nodes than kube-scheduler did."""
    return frozenset(_reasons(decision.message)[0] - _reasons(theirs.message)[0])


def _about_node(node: str, decision: Decision) -> Disagreement | None:
    """Return the difference if we reject the node that the pod runs on."""
    if decision.pre_enqueue.code is not Code.SUCCESS or node not in decision.cluster.nodes.row:
        return None
    verdict = decision.node(node)
    if verdict.feasible:
        return None
    said = {f"{plugin}: {reason.text}" for plugin, reasons in verdict.reasons for reason in reasons}
    # The difference is about this node, whether or not the pod fits on another one.
    return Disagreement(Outcome.UNSCHEDULABLE, frozenset(said or verdict.status.reasons))


def without_preemption(message: str) -> str:
    """Return a message without the part that PostFilter added."""
    found = _PREEMPTION.search(message)
    return message[: found.start()].rstrip() if found else message


def _reasons(message: str) -> tuple[Counter[str], Counter[str]]:
    """Count the nodes of each reason: in the filters' part, and in the part about preemption."""
    first = without_preemption(message)
    return _counted(first), _counted(message[len(first) :])


def _counted(part: str) -> Counter[str]:
    part = part.strip()
    if (nodes := _NODES.search(part)) is not None:
        part = part[nodes.end() :]
    texts = _BETWEEN.split(part.removesuffix(CUT).rstrip("."))
    if part.endswith(CUT):
        # The last text is incomplete, so it is no reason.
        texts = texts[:-1]
    counts: Counter[str] = Counter()
    for text in texts:
        counted = _COUNTED.fullmatch(text)
        if counted is not None:
            counts[counted[2]] += int(counted[1])
        elif text:
            counts[text] += 1
    return counts

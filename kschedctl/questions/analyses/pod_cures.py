"""The cures for a pending pod, in the form that answers about several pods share."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.diagnosis.why.proof import Suggestion, recreation_consequences
from kschedctl.diagnosis.why.rollout_trial import rollout_in_words
from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.template import commands_of
from kschedctl.questions.analyses.pod_groups.answer import pod_group_data
from kschedctl.questions.answers.cures import CureData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_decision import group_of


def pod_cures(decision: Decision, most: int, kept: Collection[str] = ()) -> Iterator[CureData]:
    """Yield the cures of lowest risk for the pod of a decision, as ``explain`` suggests them.

    Parameters
    ----------
    decision : Decision
        The decision for a pod that is not scheduled.
    most : int
        The most cures to return.
    kept : collection of str
        The pods that no cure deletes, as ``namespace/name``.
    """
    for one in islice(suggest(decision, most, ways=False, kept=kept).ranked, most):
        if isinstance(one, Advice):
            yield CureData(one.summary, "", (one.command,) if one.command else (), one.untried)
        else:
            yield suggested_cure(one)


def suggested_cure(suggestion: Suggestion) -> CureData:
    """Return a suggestion for a pod, with the node that the pod then gets, or the outcome for its group."""
    before = suggestion.before
    where = f"{'one of ' if len(suggestion.nodes) > 1 else ''}{listed(suggestion.nodes)}"
    evicts = f"evicts {listed(suggestion.evicts)}, then " if suggestion.evicts else ""
    group = group_of(suggestion.decision)
    outcome = f"{before.pod.key} is scheduled to {where}"
    if group is not None:
        title, n_placed = pod_group_data(group).title, sum(bool(member.node) for member in group.members)
        members = f"{counted(n_placed, 'member')} of {title} {'is' if n_placed == 1 else 'are'}"
        outcome = f"{members if n_placed else f'{title} is'} scheduled"
    effects = (*rollout_in_words(suggestion), *recreation_consequences(suggestion))
    then = "; ".join((f"{evicts}{outcome}", *effects))
    return CureData(suggestion.summary, then, commands_of(before.cluster, suggestion.remedies))

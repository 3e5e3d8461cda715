"""Suggestions for a pod as data."""

from __future__ import annotations

import msgspec

from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.diagnosis.why.proof import Suggestion
from kschedctl.diagnosis.why.rollout_trial import consequences, pod_to_delete
from kschedctl.diagnosis.why.template import commands_of, through_templates
from kschedctl.questions.answers.explain import SuggestionData
from kschedctl.questions.answers.tried_changes import ThenData
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.framework.remedy import RemedyScope, delete_command


def suggestion_data(suggestion: Suggestion | Advice) -> SuggestionData:
    """Return a suggestion, or a cure that cannot be tried, as data."""
    if isinstance(suggestion, Advice):
        return SuggestionData(
            summary=suggestion.summary,
            kind=RemedyScope.CLUSTER,
            evicts=(),
            violates=(),
            changes=(),
            workload_changes=(),
            commands=(suggestion.command,) if suggestion.command else (),
            consequences=(),
            alternatives=(),
            untried=suggestion.untried,
            then=ThenData(()),
        )
    before = suggestion.before
    through = through_templates(before.cluster, before.pod, suggestion.remedies)
    return SuggestionData(
        summary=suggestion.summary,
        kind=suggestion.scope,
        evicts=suggestion.evicts,
        violates=suggestion.violates,
        changes=tuple(map(msgspec.to_builtins, suggestion.changes)),
        workload_changes=tuple(map(msgspec.to_builtins, through)),
        commands=(
            *commands_of(before.cluster, suggestion.remedies, through),
            *((delete_command((deleted,)),) if (deleted := pod_to_delete(suggestion, through)) else ()),
            *_other_commands(suggestion),
        ),
        consequences=consequences(suggestion, through),
        alternatives=tuple(other.summary for other in suggestion.others),
        untried="",
        then=ThenData(suggestion.nodes, _members(suggestion)),
    )


def _members(suggestion: Suggestion) -> int | None:
    group = group_of(suggestion.decision)
    return sum(bool(each.node) for each in group.members) if group is not None else None


def _other_commands(suggestion: Suggestion) -> tuple[str, ...]:
    """Return the commands of the other ways, as lines that begin with ``# or``."""
    lines = (line for other in suggestion.others for line in commands_of(other.before.cluster, other.remedies))
    return tuple(f"# or {line.removeprefix('# ')}" for line in lines)

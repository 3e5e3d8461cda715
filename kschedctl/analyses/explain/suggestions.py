"""Suggestions for a pod as data."""

from __future__ import annotations

import msgspec

from kschedctl.answers.explain import SuggestionData
from kschedctl.answers.tried_changes import ThenData
from kschedctl.why.commands import commands_of
from kschedctl.why.proof import Suggestion
from kschedctl.why.template import through_templates


def suggestion_data(suggestion: Suggestion) -> SuggestionData:
    """Return a suggestion as data."""
    before = suggestion.before
    through = through_templates(before.cluster, before.pod, suggestion.remedies)
    return SuggestionData(
        summary=suggestion.summary,
        kind=suggestion.scope,
        evicts=suggestion.evicts,
        violates=suggestion.violates,
        changes=tuple(map(msgspec.to_builtins, suggestion.changes)),
        workload_changes=tuple(map(msgspec.to_builtins, through)),
        commands=commands_of(before.cluster, suggestion.remedies, through),
        then=ThenData(suggestion.nodes),
    )

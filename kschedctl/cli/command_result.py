"""The result of a command: the answer, its view, and the next command."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec

from kschedctl.questions.answer import Answer, AnswerList, AnswerOutcome, AnswerStream
from kschedctl.questions.frame import View
from kschedctl.trials.loaded_cluster import LoadedCluster


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a command."""

    answer: Answer | AnswerStream[Any]
    #: The cluster, for charts of its nodes; ``None`` for answers without such charts.
    cluster: LoadedCluster | None = None
    #: The part of the answer that is shown in text output.
    view: View = msgspec.field(default_factory=View)
    #: The outcome that sets the exit code, if an option overrides that of the answer.
    outcome: AnswerOutcome | None = None
    #: The options that select a single pod, by its name as namespace/name; empty for pods of the snapshot.
    arguments: Mapping[str, Mapping[str, object]] = msgspec.field(default_factory=dict)


class NamedSubject(Protocol):
    """A pod or another object that an answer is about."""

    @property
    def key(self) -> str:
        """The object's name, as namespace/name."""

    @property
    def arguments(self) -> Mapping[str, object]:
        """The options that select only this object; empty if its name is sufficient."""


def arguments_of(subjects: Iterable[NamedSubject]) -> dict[str, Mapping[str, object]]:
    """Return the options that select each object alone, by the object's name."""
    return {one.key: one.arguments for one in subjects if one.arguments}


def shown_list(
    answers: AnswerList, subjects: Iterable[NamedSubject], *, named: bool, cluster: LoadedCluster | None = None
) -> CommandResult:
    """Return the answers about pods or other objects as the result of a command.

    Args:
        named: True if the objects were named, not selected: a single answer is then not wrapped in a list.
    """
    only = answers.answers[0] if named and len(answers.answers) == 1 else answers
    return CommandResult(answer=only, cluster=cluster, view=View(named=named), arguments=arguments_of(subjects))

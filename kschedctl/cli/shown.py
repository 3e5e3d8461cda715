"""The result of a command: an answer, and the part of it that is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kschedctl.answers.base import Answer, AnswerList, AnswerOutcome
from kschedctl.answers.stream import AnswerStream
from kschedctl.presentation.frame import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The result of a command.

    Attributes
    ----------
    answer : Answer or AnswerStream
        The answer.
    view : View
        The part of it that people are shown.
    outcome : AnswerOutcome or None
        The outcome that the exit code follows, if an option makes it another than that of the answer.
    arguments : mapping
        By the name of a pod, as namespace/name, the options that name it alone; a pod of the snapshot needs none.
    """

    answer: Answer | AnswerStream[Any]
    view: View = field(default_factory=View)
    outcome: AnswerOutcome | None = None
    arguments: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


class Named(Protocol):
    """A pod or another object that a question is about."""

    @property
    def key(self) -> str:
        """Its name, as namespace/name."""

    @property
    def arguments(self) -> Mapping[str, object]:
        """The options that name it alone; empty if its name does."""


def shown_list(answers: AnswerList, subjects: Iterable[Named], *, named: bool) -> Shown:
    """Return the answers about pods or other objects as the result of a command.

    Parameters
    ----------
    named : bool
        True if they were named, not selected: the only one of them is answered for by itself, not as a list.
    """
    only = answers.answers[0] if named and len(answers.answers) == 1 else answers
    return Shown(answer=only, view=View(named=named), arguments=arguments_of(subjects))


def arguments_of(subjects: Iterable[Named]) -> dict[str, Mapping[str, object]]:
    """Return the options that name each object alone, by its name."""
    return {one.key: one.arguments for one in subjects if one.arguments}

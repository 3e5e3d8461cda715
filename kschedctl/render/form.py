"""The base of all forms of output: the values of ``-o``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, cast

if TYPE_CHECKING:
    from rich.console import Console

    from kschedctl.answers.base import Answer
    from kschedctl.answers.stream import AnswerStream
    from kschedctl.presentation.document import Question
    from kschedctl.presentation.frame import View

    Answers = Answer | AnswerStream[Any]


@dataclass(frozen=True, slots=True)
class Medium:
    """The place that text is written to.

    Attributes
    ----------
    console : callable
        Opens the console that tells width, colours and characters; forms for programs need none.
    command_line : callable
        Writes a next question as the command that answers it.
    """

    console: Callable[[], Console]
    command_line: Callable[[Question], str]


class Tabular(Protocol):
    """An answer that is a table as well."""

    def headings(self) -> Sequence[str]:
        """Return the columns."""

    def table(self) -> Iterable[Sequence[str | int | float | bool | None]]:
        """Return the rows, with a cell per column."""


def collected(answer: Answers) -> Answer:
    """Return the answer, or all answers of a stream together."""
    from kschedctl.answers.stream import AnswerStream

    return answer.collect() if isinstance(answer, AnswerStream) else answer


def as_table(answer: Answers) -> Tabular:
    """Return the answer of a command that offers forms of tables."""
    return cast("Tabular", collected(answer))


class FormKind(Enum):
    """The kinds of answers that forms are for."""

    ANSWER = auto()
    TABLE = auto()
    FINDINGS = auto()


#: The kinds of every command but ``lint``.
ANSWERS: Final = frozenset({FormKind.ANSWER, FormKind.TABLE})


class FormError(ValueError):
    """The value of ``-o`` is wrong."""


class Form(ABC):
    """A form of output.

    Attributes
    ----------
    name : str
        Its name; empty for the one that needs none.
    argument : str
        The metavar of the text behind ``=``, for the help; empty for none.
    kinds : frozenset of FormKind
        The kinds of answers that it is for.
    """

    name: ClassVar[str]
    argument: ClassVar[str] = ""
    kinds: ClassVar[frozenset[FormKind]] = ANSWERS

    @classmethod
    def parse(cls, argument: str) -> Self:
        """Read the text behind ``=``.

        Raises
        ------
        FormError
            If it is wrong.
        """
        return cls()

    @abstractmethod
    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str] | Iterator[bytes]:
        """Yield the answer in this form, piece by piece; bytes if the form is no text.

        Parameters
        ----------
        answer : Answer or AnswerStream
            The answer; forms of data collect a stream, text is written answer by answer.
        view : View
            The part that people are shown.
        """

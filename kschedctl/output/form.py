"""The base of all output formats; ``forms`` is their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import IO, TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast

if TYPE_CHECKING:
    from kschedctl.common.frames import Tabular
    from kschedctl.questions.answer import Answer, AnswerStream
    from kschedctl.questions.document import Question
    from kschedctl.questions.frame import View

    Answers = Answer | AnswerStream[Any]


class Console(Protocol):
    """The properties of a console that forms depend on; the names are those of rich."""

    @property
    def width(self) -> int:
        """The width in characters."""

    @property
    def encoding(self) -> str:
        """The encoding, in lower case."""

    @property
    def color_system(self) -> str | None:
        """The colours that are available; ``None`` for none. A console with colours is one of rich."""

    @property
    def is_terminal(self) -> bool:
        """True for a terminal."""

    @property
    def file(self) -> IO[str]:
        """The stream that the text is for."""


@dataclass(frozen=True, slots=True)
class Medium:
    """The medium that output is written to.

    Attributes
    ----------
    console : callable
        Opens the console with its width, colours and encoding; machine-readable formats need none.
    command_line : callable
        Writes a next question as the command that answers it.
    """

    console: Callable[[], Console]
    command_line: Callable[[Question], str]


def collected(answer: Answers) -> Answer:
    """Return the answer; collect all answers of a stream."""
    from kschedctl.questions.answer import AnswerStream

    return answer.collect() if isinstance(answer, AnswerStream) else answer


def as_table(answer: Answers) -> Tabular:
    """Return the answer of a command that supports tabular formats."""
    return cast("Tabular", collected(answer))


class FormKind(Enum):
    """The kinds of answers that output formats support."""

    ANSWER = auto()
    TABLE = auto()
    FINDINGS = auto()


class FormError(ValueError):
    """An invalid value of ``-o``."""


class Form(ABC):
    """An output format: a value of ``-o``.

    Attributes
    ----------
    draws : bool
        True if the format draws charts, which need the nodes of the cluster.
    """

    draws: ClassVar[bool] = False

    @classmethod
    def parse(cls, argument: str) -> Self:
        """Parse the text after ``=``.

        Raises
        ------
        FormError
            If the text is invalid.
        """
        return cls()

    @abstractmethod
    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str] | Iterator[bytes]:
        """Yield the answer in this format, piece by piece; bytes if the format is binary.

        Parameters
        ----------
        answer : Answer or AnswerStream
            The answer; machine-readable formats collect a stream, text is written answer by answer.
        view : View
            The part that is shown in text output.
        """

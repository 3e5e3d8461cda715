"""What a form of output is, and what it is a form of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, cast

if TYPE_CHECKING:
    from rich.console import Console

    from kschedctl.report.document import Document
    from kschedctl.report.envelope import Answer, Compound


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the exit code of a command goes by.

    Attributes
    ----------
    yes : bool
        Whether the answer is the one that people hope for: it fits, nothing differs, nothing is wrong.
    complete : bool
        Whether everything that bears on the answer is known.
    interrupted : bool
        Whether it is what was done until somebody pressed Ctrl-C.
    """

    yes: bool = True
    complete: bool = True
    interrupted: bool = False


class Reply(ABC):
    """What a run of a command answers, before it is put into a form."""

    @abstractmethod
    def value(self) -> Answer | Compound:
        """The answer as data."""

    @abstractmethod
    def document(self, *, wide: bool) -> Document:
        """The answer for people.

        Parameters
        ----------
        wide : bool
            Whether everything is shown, one by one instead of in groups.
        """

    @abstractmethod
    def outcome(self) -> Outcome:
        """What the exit code goes by; known once the answer has been given in one form or the other."""


class Tabular(Protocol):
    """An answer that is a table as well."""

    def headings(self) -> Sequence[str]:
        """The columns."""

    def table(self) -> Iterable[Sequence[str | int | float | bool | None]]:
        """The rows, with a cell per column."""


def as_table(reply: Reply) -> Tabular:
    """The answer of a command that offers forms of tables."""
    return cast("Tabular", reply.value())


class FormError(ValueError):
    """What follows the name of a form is wrong."""


class Form(ABC):
    """A form that an answer is printed in: the values of ``-o``.

    Attributes
    ----------
    name : str
        Its name; empty for the one that needs none.
    argument : str
        What follows the name behind ``=``, for the help; empty for nothing.
    tabular : bool
        Whether it is for answers that are tables alone.
    """

    name: ClassVar[str]
    argument: ClassVar[str] = ""
    tabular: ClassVar[bool] = False

    @classmethod
    def parse(cls, argument: str) -> Self:
        """Read what follows the name.

        Raises
        ------
        FormError
            Where it is wrong.
        """
        return cls()

    @abstractmethod
    def render(self, reply: Reply, console: Callable[[], Console]) -> Iterator[str] | Iterator[bytes]:
        """Put an answer into the form.

        Parameters
        ----------
        reply : Reply
            The answer.
        console : callable
            Opens the console that tells width, colours and characters; forms for programs hardly ask.

        Yields
        ------
        str or bytes
            The text, piece by piece; bytes of a form that is none.
        """

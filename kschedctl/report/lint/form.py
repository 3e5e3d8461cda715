"""What a form of output of lint is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kschedctl.lint.diagnosis import Diagnosis
from kschedctl.lint.run import Linted

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is shown of a run.

    Attributes
    ----------
    linted : Linted
        What it found.
    failed : bool
        Whether its exit code is that of findings.
    fixed : int
        How many findings were repaired before.
    console : callable
        Opens the console that tells width, colours and characters.
    command : callable
        A command of this program, as the user calls it.
    unsafe : bool
        Whether repairs that change behaviour are applied.
    """

    linted: Linted
    failed: bool
    fixed: int
    console: Callable[[], Console]
    command: Callable[..., str]
    unsafe: bool = False

    @property
    def told(self) -> Sequence[Diagnosis]:
        """The findings that people see one by one."""
        return [each for each in self.linted.found if not each.rule.counted]


class LintForm(ABC):
    """A form that the answer of lint is printed in.

    Attributes
    ----------
    name : str
        As ``-o`` takes it.
    """

    name: ClassVar[str]

    @abstractmethod
    def render(self, run: Run) -> Iterator[str]:
        """Put an answer into the form.

        Yields
        ------
        str
            The text, piece by piece.
        """


def by_severity(found: Sequence[Diagnosis]) -> list[Diagnosis]:
    """Findings, the worst first."""
    from kschedctl.lint.diagnosis import ORDER

    return sorted(found, key=lambda each: ORDER[each.severity])

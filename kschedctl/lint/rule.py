"""What a rule is: a line of the list, and a module with its page, its examples and its condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Protocol

from kschedctl.findings.finding import Severity
from kschedctl.lint.fix import Fix
from kschedctl.lint.given import GivenObject
from kschedctl.lint.values import Steps

RULES_PACKAGE: Final = "kschedctl.lint.rules"


class Stop(StrEnum):
    """Where it stops."""

    REFUSED = "A"
    PODS_REFUSED = "B"
    WAITS = "C"
    HANGS = "D"

    @property
    def words(self) -> str:
        """The place in words."""
        return _WORDS[self]


_WORDS: Final = {
    Stop.REFUSED: "the API server refuses the object",
    Stop.PODS_REFUSED: "the API server takes the object and refuses its pods",
    Stop.WAITS: "pods wait",
    Stop.HANGS: "the next rollout or drain hangs",
}


class About(StrEnum):
    """What a rule looks at, one at a time; the other rules name a kind, as ``policy/PodDisruptionBudget``."""

    #: Whatever makes pods, and pods themselves (``kschedctl.lint.pods.Pods``).
    PODS = "pods"
    #: Any object, partial ones too.
    OBJECT = "object"
    #: A file (``kschedctl.lint.reading.LintFile``).
    FILE = "file"
    #: What was left out of account; such rules are asked last, by whoever leaves it out.
    IGNORES = "ignores"


@dataclass(frozen=True, slots=True)
class Related:
    """Another object that a problem comes of, and what it says."""

    object: GivenObject
    steps: Steps
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a rule finds.

    Attributes
    ----------
    message : str
        What is wrong, with the values.
    steps : tuple of str or int
        The field, from the object that was looked at.
    help : str
        What to do.
    severity : Severity or None
        Where it is not the rule's own.
    stop : Stop or None
        Where it is not the rule's own.
    key : bool
        Whether the field's name is meant, not its value.
    line, column : int or None
        Where it is, of what has no fields.
    """

    message: str
    steps: Steps = ()
    help: str = ""
    severity: Severity | None = None
    stop: Stop | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    key: bool = False
    line: int | None = None
    column: int | None = None


class Check(Protocol):
    """The condition of a rule."""

    def __call__(self, subject: Any, run: Any, /) -> Iterator[Problem]:
        """What is wrong with one of the things that the rule looks at."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A line of the list of rules.

    Attributes
    ----------
    code, name : str
        As ``KS201`` and ``rollout-needs-spare-domain``.
    severity : Severity
        What it mostly is; a problem may say otherwise.
    stop : Stop or None
        The place where it stops; ``None`` where nothing does.
    about : str
        What it looks at: an ``About``, or a kind.
    module : str
        Below ``kschedctl.lint.rules``.
    on : bool
        Whether it is asked without being selected.
    if_complete : bool
        Whether it is asked, although it is off, where everything is given: by the settings, or with a snapshot.
    counted : bool
        Whether people see only how many there are.
    snapshot : bool
        Whether it needs a snapshot.
    """

    code: str
    name: str
    severity: Severity
    stop: Stop | None
    about: str
    module: str
    on: bool = field(default=True, kw_only=True)
    if_complete: bool = field(default=False, kw_only=True)
    counted: bool = field(default=False, kw_only=True)
    snapshot: bool = field(default=False, kw_only=True)

    @property
    def _loaded(self) -> ModuleType:
        return import_module(f"{RULES_PACKAGE}.{self.module}")

    @property
    def check(self) -> Check:
        """Its condition."""
        found: Check = self._loaded.check
        return found

    @property
    def page(self) -> str:
        """What it says, why, and how to repair it."""
        return (self._loaded.__doc__ or "").strip()

    @property
    def summary(self) -> str:
        """The first sentence of the page."""
        return self.page.split("\n\n", 1)[0].replace("\n", " ")

    @property
    def fails(self) -> str:
        """An example that it finds something in; lines that end with ``# <-`` are where."""
        return str(self._loaded.FAILS).lstrip("\n")

    @property
    def passes(self) -> str:
        """The same, repaired."""
        return str(self._loaded.PASSES).lstrip("\n")

    def example_options(self) -> dict[str, Any]:
        """What its examples need besides: ``snapshot``, ``settings``, ``name`` of the file."""
        return dict(getattr(self._loaded, "OPTIONS", {}))

"""What a rule is: a line of the list, and a module with its page, its examples and its condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Protocol

from kschedctl.findings.finding import Severity
from kschedctl.linter.examples import MARK, manifests
from kschedctl.linter.fix import Fix
from kschedctl.linter.manifest_set import ManifestObject
from kschedctl.linter.values import Steps

RULES_PACKAGE: Final = "kschedctl.linter.rules"


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

    #: Whatever makes pods, and pods themselves (``kschedctl.linter.pods.Pods``).
    PODS = "pods"
    #: Any object, partial ones too.
    OBJECT = "object"
    #: A file (``kschedctl.linter.reading.LintFile``).
    FILE = "file"
    #: What was left out of account; such rules are asked last, by whoever leaves it out.
    IGNORES = "ignores"


@dataclass(frozen=True, slots=True)
class Related:
    """Another object that a problem comes of, and what it says."""

    object: ManifestObject
    steps: Steps
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a rule finds."""

    #: What is wrong, with the values.
    message: str
    #: The field, from the object that was looked at.
    steps: Steps = ()
    #: What to do.
    help: str = ""
    #: Where it is not the rule's own.
    severity: Severity | None = None
    #: Where it is not the rule's own.
    stop: Stop | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    #: Whether the field's name is meant, not its value.
    key: bool = False
    #: Where it is, of what has no fields.
    line: int | None = None
    column: int | None = None


class Check(Protocol):
    """The condition of a rule."""

    def __call__(self, subject: Any, run: Any, /) -> Iterator[Problem]:
        """What is wrong with one of the things that the rule looks at."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A line of the list of rules."""

    #: As ``KS201`` and ``rollout-needs-spare-domain``.
    code: str
    name: str
    #: What it mostly is; a problem may say otherwise.
    severity: Severity
    #: The place where it stops; ``None`` where nothing does.
    stop: Stop | None
    #: What it looks at: an ``About``, or a kind.
    about: str
    #: Below ``kschedctl.linter.rules``.
    module: str
    #: Whether it is asked without being selected.
    on: bool = field(default=True, kw_only=True)
    #: Whether it is asked, although it is off, where everything is given: by the settings, or with a snapshot.
    if_complete: bool = field(default=False, kw_only=True)
    #: Whether people see only how many there are.
    counted: bool = field(default=False, kw_only=True)
    #: Whether it needs a snapshot.
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
        return manifests(self._loaded.FAILS)

    @property
    def passes(self) -> str:
        """The same, repaired, without marks."""
        return manifests(self._loaded.PASSES).replace(MARK, "")

    def example_options(self) -> dict[str, Any]:
        """What its examples need besides: ``snapshot``, ``settings``, ``name`` of the file."""
        return dict(getattr(self._loaded, "OPTIONS", {}))

"""The definition of a lint rule: an entry of the list of rules, and a module with page, examples and check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Protocol

from kschedctl.common.findings import Severity
from kschedctl.linter.examples import MARK, manifests
from kschedctl.linter.fix import Fix
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.values import Steps

RULES_PACKAGE: Final = "kschedctl.linter.rules"


class Stage(StrEnum):
    """The place where a problem takes effect, from the API server's validation to the next rollout."""

    REFUSED = "A"
    PODS_REFUSED = "B"
    WAITS = "C"
    HANGS = "D"

    @property
    def words(self) -> str:
        """A description of the place."""
        return _WORDS[self]


_WORDS: Final = {
    Stage.REFUSED: "the API server refuses the object",
    Stage.PODS_REFUSED: "the API server accepts the object and refuses its pods",
    Stage.WAITS: "pods stay pending",
    Stage.HANGS: "the next rollout or drain hangs",
}


class RuleSubject(StrEnum):
    """The subject that a rule checks; rules for objects of one kind name it, such as ``policy/PodDisruptionBudget``."""

    #: Pods, and objects with a pod template (``kschedctl.linter.pods.Pods``).
    PODS = "pods"
    #: Any object, including partial objects.
    OBJECT = "object"
    #: A file (``kschedctl.linter.lint_files.LintFile``).
    FILE = "file"
    #: An ignore (``kschedctl.linter.ignore.Ignore``); these rules run last, after ignores were applied.
    IGNORES = "ignores"


@dataclass(frozen=True, slots=True)
class Related:
    """Another object that contributes to a problem, with the field and an explanation."""

    object: LintObject
    steps: Steps
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem that a rule finds."""

    #: The problem, including the offending values.
    message: str
    #: The field, as keys and indices from the root of the checked object.
    steps: Steps = ()
    #: The action to take.
    help: str = ""
    #: The severity, if it differs from the rule's.
    severity: Severity | None = None
    #: The place where the problem takes effect, if it differs from the rule's.
    stop: Stage | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    #: True if the problem is in the field's name, not in its value.
    key: bool = False
    #: The position, for problems that are not in a field; both are counted from 1.
    line: int | None = None
    column: int | None = None


class RuleCheck(Protocol):
    """The check of a rule."""

    def __call__(self, subject: Any, run: Any, /) -> Iterator[Problem]:
        """Yield the problems of one subject of the rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: an entry of the list of rules."""

    #: Code and name, such as ``KS201`` and ``rollout-needs-spare-domain``.
    code: str
    name: str
    #: The default severity; a problem can override it.
    severity: Severity
    #: The default place where problems take effect; ``None`` if nothing is refused, pending or blocked.
    stop: Stage | None
    #: The subject that is checked: an ``RuleSubject``, or a kind.
    about: str
    #: The module's path below ``kschedctl.linter.rules``.
    module: str
    #: True if the rule runs without being selected.
    on: bool = field(default=True, kw_only=True)
    #: True if a rule that is off runs where the manifest set is complete: by the settings, or with a snapshot.
    if_complete: bool = field(default=False, kw_only=True)
    #: True if output for people shows only the number of findings that are info.
    counted: bool = field(default=False, kw_only=True)
    #: True if the rule needs a snapshot.
    snapshot: bool = field(default=False, kw_only=True)

    @property
    def _loaded(self) -> ModuleType:
        return import_module(f"{RULES_PACKAGE}.{self.module}")

    @property
    def check(self) -> RuleCheck:
        """The check function of the rule's module."""
        found: RuleCheck = self._loaded.check
        return found

    @property
    def page(self) -> str:
        """The rule's page: the problem, its reasons and effect, and the repair."""
        return (self._loaded.__doc__ or "").strip()

    @property
    def summary(self) -> str:
        """The first paragraph of the page: one sentence."""
        return self.page.split("\n\n", 1)[0].replace("\n", " ")

    @property
    def fails(self) -> str:
        """An example with problems; each line with a finding ends with ``# <-``."""
        return manifests(self._loaded.FAILS)

    @property
    def passes(self) -> str:
        """The same example after the repair, without marks."""
        return manifests(self._loaded.PASSES).replace(MARK, "")

    def example_options(self) -> dict[str, Any]:
        """Return the options to lint the examples with: ``snapshot``, ``settings``, ``name`` of the file."""
        return dict(getattr(self._loaded, "OPTIONS", {}))

"""The definition of a lint rule: a check, with its code, its page and its examples above it."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Any, Final, Self, TypeAlias

from kschedctl.common.findings import Severity
from kschedctl.linter.examples import MARK, manifests
from kschedctl.linter.fix import Fix
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.values import Steps


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
    #: An ignore (``kschedctl.linter.ignores.Ignore``); these rules run last, after ignores were applied.
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


#: The check of a rule: yields the problems of one subject.
RuleCheck: TypeAlias = Callable[[Any, Any], Iterator[Problem]]


@dataclass(slots=True, eq=False)
class Rule:
    """A rule: the decorator of its check, whose docstring is the rule's page."""

    #: Code and name, such as ``KS201`` and ``rollout-needs-spare-domain``.
    code: str
    name: str
    #: The default severity; a problem can override it.
    severity: Severity
    #: The default place where problems take effect; ``None`` if nothing is refused, pending or blocked.
    stop: Stage | None
    #: The subject that is checked: an ``RuleSubject``, or a kind.
    about: str
    _: KW_ONLY
    #: An example with problems, in which each line with a finding ends with ``# <-``.
    fails: str
    #: The texts of the example that the repair replaces, with the new ones.
    repair: Mapping[str, str] = field(default_factory=dict)
    #: The example after the repair, if the repair replaces no text.
    passes: str = ""
    #: The options to lint the examples with: ``snapshot``, ``settings``, ``name`` of the file, ``release``.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: True if the rule runs without being selected.
    on: bool = True
    #: True if a rule that is off runs where the manifest set is complete: by the settings, or with a snapshot.
    if_complete: bool = False
    #: True if output for people shows only the number of findings that are info.
    counted: bool = False
    #: True if the rule is about single fields of pod templates, so that it checks partial objects, too.
    of_fields: bool = False
    #: True if the rule needs a snapshot.
    snapshot: bool = False
    check: RuleCheck = field(init=False)
    #: The problem, its reasons and effect, and the repair.
    page: str = field(init=False)

    def __call__(self, check: RuleCheck) -> Self:
        self.check, self.page = check, inspect.getdoc(check) or ""
        return self

    @property
    def summary(self) -> str:
        """The first paragraph of the page: one sentence."""
        return self.page.split("\n\n", 1)[0].replace("\n", " ")

    @property
    def failing_manifests(self) -> str:
        """The example with problems, with the skeletons of the kinds; lines with a finding are marked."""
        return manifests(self.fails)

    @property
    def passing_manifests(self) -> str:
        """The same example after the repair, without marks."""
        text = self.passes or self.fails
        for old, new in self.repair.items():
            text = text.replace(old, new)
        return manifests(text).replace(MARK, "")

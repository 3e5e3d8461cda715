"""Fixes as data: changes of fields of objects. ``kschedctl.linter.applied_fixes`` turns them into edits of the text."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.values import Steps


class FixAction(Enum):
    """The kind of change made to a field."""

    #: Set the field's value; add the field if it is absent.
    SET = auto()
    #: Remove the field or list item.
    REMOVE = auto()
    #: Rename the field.
    RENAME = auto()
    #: Add an item to the list.
    APPEND = auto()


@dataclass(frozen=True, slots=True)
class FieldEdit:
    """A change of one field."""

    action: FixAction
    steps: Steps
    value: Any = None

    @property
    def touched(self) -> Steps:
        """The path of the value that the change affects: for an item that is removed, its list, as indices change."""
        removed_item = self.action is FixAction.REMOVE and isinstance(self.steps[-1], int)
        return self.steps[:-1] if removed_item else self.steps


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix: changes of one object that resolve a finding."""

    #: The object that is changed.
    object: LintObject
    #: A description of the fix, in the imperative.
    title: str
    #: The changes, in the order in which they are made.
    changes: tuple[FieldEdit, ...]
    #: True if the fix corrects the problem and nothing else; an unsafe fix changes how the pods behave, or drops a
    #: comment.
    safe: bool = True

    def overlaps(self, other: "Fix") -> bool:
        """Report whether another fix of the same object affects the same value, or a value in it."""
        pairs = ((one.touched, two.touched) for one in self.changes for two in other.changes)
        return any(one[: len(two)] == two[: len(one)] for one, two in pairs)


def setting(obj: LintObject, title: str, *fields: tuple[Steps, Any], safe: bool = True) -> Fix:
    """Return a fix that sets fields to values."""
    return Fix(obj, title, tuple(FieldEdit(FixAction.SET, steps, value) for steps, value in fields), safe)


def removing(obj: LintObject, title: str, *fields: Steps, safe: bool = True) -> Fix:
    """Return a fix that removes fields."""
    return Fix(obj, title, tuple(FieldEdit(FixAction.REMOVE, steps) for steps in fields), safe)


def renaming(obj: LintObject, steps: Steps, name: str) -> Fix:
    """Return a fix that renames a field."""
    return Fix(obj, f"rename {steps[-1]} to {name}", (FieldEdit(FixAction.RENAME, steps, name),))


def appending(obj: LintObject, title: str, steps: Steps, item: Any, *, safe: bool = True) -> Fix:
    """Return a fix that appends an item to a list, which it adds if it is absent."""
    return Fix(obj, title, (FieldEdit(FixAction.APPEND, steps, item),), safe)

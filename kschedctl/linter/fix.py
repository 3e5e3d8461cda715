"""What a fix changes: fields of objects, as data; ``kschedctl.linter.fixing`` turns it into edits of the text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from kschedctl.linter.manifest_set import ManifestObject
from kschedctl.linter.values import Steps


class Action(Enum):
    """What is done to a field."""

    #: Give it this value; add it where it is not there.
    SET = auto()
    #: Take it away.
    REMOVE = auto()
    #: Give it another name.
    RENAME = auto()
    #: Add an item to the list.
    APPEND = auto()


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one field."""

    action: Action
    steps: Steps
    value: Any = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair."""

    #: What is changed.
    object: ManifestObject
    #: What it does.
    title: str
    #: In this order.
    changes: tuple[Change, ...]
    #: Whether it changes nothing but what is wrong; one that is not changes how the pods behave.
    safe: bool = True


def setting(obj: ManifestObject, title: str, *fields: tuple[Steps, Any], safe: bool = True) -> Fix:
    """A fix that gives fields their values."""
    return Fix(obj, title, tuple(Change(Action.SET, steps, value) for steps, value in fields), safe)


def removing(obj: ManifestObject, title: str, *fields: Steps, safe: bool = True) -> Fix:
    """A fix that takes fields away."""
    return Fix(obj, title, tuple(Change(Action.REMOVE, steps) for steps in fields), safe)


def renaming(obj: ManifestObject, steps: Steps, name: str) -> Fix:
    """A fix that gives a field another name."""
    return Fix(obj, f"rename {steps[-1]} to {name}", (Change(Action.RENAME, steps, name),))


def appending(obj: ManifestObject, title: str, steps: Steps, item: Any) -> Fix:
    """A fix that adds an item to a list."""
    return Fix(obj, title, (Change(Action.APPEND, steps, item),))

"""Changes of fields applied to data: the expected value of a document after its text is edited."""

from __future__ import annotations

from typing import Any

from kschedctl.linter.fix import FieldEdit, FixAction
from kschedctl.linter.values import Steps, at


class CannotChangeError(Exception):
    """A change that cannot be made in the document."""


def settled(change: FieldEdit, value: Any) -> FieldEdit:
    """Return the change to make in place of `change`, so that no mapping or list becomes empty.

    A removal that would leave its mapping or list empty removes that mapping or list instead, but never an item of a
    list with it. An item appended where no list exists sets a list of one item.

    Parameters
    ----------
    value : Any
        The document before the change.
    """
    if change.action is FixAction.APPEND and not isinstance(at(value, *change.steps), list):
        return FieldEdit(FixAction.SET, change.steps, [change.value])
    if change.action is not FixAction.REMOVE:
        return change
    steps = change.steps
    while len(steps) > 1 and len(at(value, *steps[:-1]) or ()) == 1 and isinstance(steps[-2], str):
        steps = steps[:-1]
    return FieldEdit(FixAction.REMOVE, steps)


def changed(value: Any, change: FieldEdit) -> Any:
    """Return the document with a change applied.

    Raises
    ------
    CannotChangeError
        If the field or list item to change does not exist, or a rename meets an existing field.
    """
    return _changed(value, change.steps, change)


def _changed(value: Any, steps: Steps, change: FieldEdit) -> Any:
    if not steps:
        if change.action is FixAction.SET:
            return change.value
        if change.action is FixAction.APPEND and isinstance(value, list):
            return [*value, change.value]
        raise CannotChangeError
    step, *rest = steps
    if isinstance(step, int):
        return _changed_list(value, step, tuple(rest), change)
    if value is None and change.action is FixAction.SET:
        value = {}
    if not isinstance(value, dict):
        raise CannotChangeError
    if rest or change.action in (FixAction.SET, FixAction.APPEND):
        return {**value, step: _changed(value.get(step), tuple(rest), change)}
    if step not in value or (change.action is FixAction.RENAME and change.value in value):
        raise CannotChangeError
    renamed = {change.value: value[step]} if change.action is FixAction.RENAME else {}
    return {**{key: item for key, item in value.items() if key != step}, **renamed}


def _changed_list(value: Any, step: int, rest: Steps, change: FieldEdit) -> list[Any]:
    if not isinstance(value, list) or step >= len(value):
        raise CannotChangeError
    if not rest and change.action is FixAction.REMOVE:
        return [*value[:step], *value[step + 1 :]]
    return [*value[:step], _changed(value[step], rest, change), *value[step + 1 :]]

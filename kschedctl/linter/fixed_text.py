"""The text of a document with a fix applied, verified to have the intended value."""

from __future__ import annotations

import yaml

from kschedctl.errors import InputError
from kschedctl.linter.data_changes import CannotChangeError, changed, settled
from kschedctl.linter.fix import FieldEdit, Fix, FixAction
from kschedctl.linter.values import at
from kschedctl.linter.yaml_edits import edited
from kschedctl.text.comments import comments
from kschedctl.text.tree import NoTreeError, yaml_trees
from kschedctl.text.yaml import yaml_value


def fixed_text(text: bytes, fix: Fix) -> bytes:
    """Return a document with a fix applied.

    Raises
    ------
    CannotChangeError
        If the text does not allow the changes, or would then have another value than intended.
    """
    for one in fix.changes:
        value, _ = yaml_value(text, "")
        change = settled(FieldEdit(one.action, (*fix.object.inside, *one.steps), one.value), value)
        wanted = changed(value, change)
        if wanted == value:
            continue
        try:
            root = next(yaml_trees(text))
            after = edited(text.decode(), root, change).encode()
            said, _ = yaml_value(after, "")
        except (yaml.YAMLError, NoTreeError, InputError, UnicodeDecodeError, StopIteration):
            raise CannotChangeError from None
        if said != wanted:
            raise CannotChangeError
        text = after
    return text


def drops_comment(before: bytes, after: bytes) -> bool:
    """Report whether a comment of a text is not in the text after a fix."""
    return b"#" in before and bool(comments(before.decode()) - comments(after.decode()))


def fix_drops_comment(fix: Fix) -> bool:
    """Report whether a fix drops a comment of its document, such as one beside a field that it removes."""
    document = fix.object.document
    if document.json or b"#" not in document.text or not any(_replaces(fix, change) for change in fix.changes):
        return False
    try:
        return drops_comment(document.text, fixed_text(document.text, fix))
    except CannotChangeError:
        return False


def _replaces(fix: Fix, change: FieldEdit) -> bool:
    """Report whether a change replaces lines of the text, in contrast to one value or an inserted line."""
    if change.action is FixAction.SET:
        return isinstance(at(fix.object.raw, *change.steps), dict | list)
    return change.action is FixAction.REMOVE

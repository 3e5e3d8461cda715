"""The text of a document with a fix applied, verified to have the intended value."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

import yaml

from kschedctl.common.errors import InputError
from kschedctl.common.text.tree import NoTreeError, comments, yaml_trees
from kschedctl.common.text.yaml import yaml_value
from kschedctl.linter.data_changes import CannotChangeError, changed, settled
from kschedctl.linter.fix import FieldEdit, Fix
from kschedctl.linter.yaml_edits import edited, text_edit


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
    if before == after or b"#" not in before:
        return False
    old, new = (Counter(comment.text for comment in comments(text.decode())) for text in (before, after))
    return bool(old - new)


def fix_drops_comment(fix: Fix) -> bool:
    """Report whether a fix drops a comment of its document, such as one beside a field that it removes."""
    document = fix.object.document
    if document.json or document.tree is None or not document.comments:
        return False
    for one in fix.changes:
        try:
            change = settled(FieldEdit(one.action, (*fix.object.inside, *one.steps), one.value), document.value)
            edit = text_edit(document.characters, document.tree, change)
        except CannotChangeError:
            return False
        first = bisect_left(document.comments, edit.start)
        if first < len(document.comments) and document.comments[first] < edit.end:
            return True
    return False

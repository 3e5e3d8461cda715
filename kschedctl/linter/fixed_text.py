"""The text of a document with a fix applied, verified to have the intended value."""

import json
import re
from bisect import bisect_left
from collections import Counter
from functools import reduce
from itertools import pairwise
from typing import Any, Final, NamedTuple

import yaml

from kschedctl.common.errors import InputError
from kschedctl.common.text.tree import NoTreeError, YamlNode, comments, yaml_trees
from kschedctl.common.text.yaml import yaml_value
from kschedctl.common.text.yaml_events import plain_scalar
from kschedctl.linter.fix import FieldEdit, Fix, FixAction
from kschedctl.linter.values import Steps, at

# Changes of fields applied to data: the expected value of a document after its text is edited.


class CannotChangeError(Exception):
    """A change that cannot be made in the document."""


def settled(change: FieldEdit, value: Any) -> FieldEdit:
    """Return the change to make in place of `change`, so that no mapping or list becomes empty.

    A removal that would leave its mapping or list empty removes that mapping or list instead, but never an item of a
    list with it. An item appended where no list exists sets a list of one item.

    Args:
        value: The document before the change.
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

    Raises CannotChangeError if the field or list item to change does not exist, or a rename meets an existing
        field.
    """
    return _changed_value(value, change.steps, change)


def _changed_value(value: Any, steps: Steps, change: FieldEdit) -> Any:
    if not steps:
        if change.action is FixAction.SET:
            return change.value
        if change.action is FixAction.APPEND and isinstance(value, list):
            return [*value, change.value]
        raise CannotChangeError
    step, *rest = steps
    if isinstance(step, int):
        at = tuple(rest)
        if not isinstance(value, list) or step >= len(value):
            raise CannotChangeError
        if not at and change.action is FixAction.REMOVE:
            return [*value[:step], *value[step + 1 :]]
        return [*value[:step], _changed_value(value[step], at, change), *value[step + 1 :]]
    if value is None and change.action is FixAction.SET:
        value = {}
    if not isinstance(value, dict):
        raise CannotChangeError
    if rest or change.action in (FixAction.SET, FixAction.APPEND):
        return {**value, step: _changed_value(value.get(step), tuple(rest), change)}
    if step not in value or (change.action is FixAction.RENAME and change.value in value):
        raise CannotChangeError
    renamed = {change.value: value[step]} if change.action is FixAction.RENAME else {}
    return {**{key: item for key, item in value.items() if key != step}, **renamed}


# Changes of fields in the text of a YAML document: comments, order and layout of everything else stay the same.

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./%+-]*")
_INDENT: Final = 2
_OF_OBJECTS: Final = frozenset(("apiVersion", "kind", "metadata"))


class TextEdit(NamedTuple):
    """The replacement of a part of a text, given by offsets in characters."""

    start: int
    end: int
    text: str


def edited(characters: str, root: YamlNode, change: FieldEdit) -> str:
    """Return the text of a document with a change applied.

    Args:
        root: The document's values with their positions.
        change: The change; its steps begin at the root of the document.

    Raises CannotChangeError if the text does not allow to change the field alone, for example because an alias
        repeats it.
    """
    edit = text_edit(characters, root, change)
    return characters[: edit.start] + edit.text + characters[edit.end :]


def text_edit(characters: str, root: YamlNode, change: FieldEdit) -> TextEdit:
    """Return the edit of the text that applies a change; parameters and errors as for ``edited``."""
    return _Text(characters).edit(root, change)


def scalar(value: Any) -> str:
    """Return a scalar as YAML, without quotes if it needs none.

    >>> scalar("nginx"), scalar("true"), scalar(""), scalar(1), scalar("34%"), scalar(None)
    ('nginx', '"true"', '""', '1', '34%', 'null')
    """
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and plain_scalar(value) == value:
            return value
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def flow(value: Any) -> str:
    """Return a value as YAML on one line, in flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def _block(value: Any, indent: int) -> list[str]:
    """Return a value as lines of YAML in block style, the first line without indent."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        lines = []
        for key, each in value.items():
            if isinstance(each, dict) and each:
                lines += [f"{scalar(key)}:", f"{pad}{' ' * _INDENT}{_joined_lines(_block(each, indent + _INDENT))}"]
            elif isinstance(each, list) and each and any(isinstance(item, dict) for item in each):
                lines += [f"{scalar(key)}:", f"{pad}{_joined_lines(_block(each, indent))}"]
            else:
                lines.append(f"{scalar(key)}: {flow(each)}")
        return [lines[0], *(line if line.startswith(pad) and pad else f"{pad}{line}" for line in lines[1:])]
    if isinstance(value, list) and value:
        lines = [f"- {_joined_lines(_block(item, indent + _INDENT))}" for item in value]
        return [lines[0], *(f"{pad}{line}" for line in lines[1:])]
    return [flow(value)]


def _joined_lines(lines: list[str]) -> str:
    return "\n".join(lines)


class _Text:
    """The text of a document, with methods that compute edits."""

    def __init__(self, characters: str) -> None:
        self._characters = characters
        self._newline = "\r\n" if "\r\n" in characters else "\n"

    def edit(self, root: YamlNode, change: FieldEdit) -> TextEdit:
        node, parent, reached = _node_at(root, change.steps)
        left = change.steps[reached:]
        if left:
            # Below the existing part of the path only mapping keys can be added.
            if change.action is not FixAction.SET or not all(isinstance(step, str) for step in left):
                raise CannotChangeError
            value = reduce(lambda inner, step: {step: inner}, reversed(left[1:]), change.value)
            return self._added(node, parent, change.steps[:reached], str(left[0]), value)
        if parent is None:
            raise CannotChangeError
        step = change.steps[-1]
        match change.action:
            case FixAction.SET:
                return self._set_edit(node, parent, step, change.value)
            case FixAction.RENAME:
                if not isinstance(step, str) or step in parent.borrowed:
                    raise CannotChangeError
                start, end = parent.children[step][0], parent.key_ends[step]
                quote = self._characters[start]
                return TextEdit(start, end, f"{quote}{change.value}{quote}" if quote in "\"'" else scalar(change.value))
            case FixAction.REMOVE:
                return self._removed(node, parent, step)
            case FixAction.APPEND:
                if not node.is_list or node.start is None:
                    raise CannotChangeError
                if node.flow:
                    return self._last_of_flow(node, flow(change.value))
                indent = self._column(node.start)
                return self._insert_line(
                    node.end, f"{' ' * indent}- {_joined_lines(_block(change.value, indent + _INDENT))}"
                )

    def _column(self, offset: int) -> int:
        return offset - self._line_start(offset)

    def _line_start(self, offset: int) -> int:
        return self._characters.rfind("\n", 0, offset) + 1

    def _next_line(self, offset: int) -> int:
        """Return the offset of the line after the text that ends at `offset`."""
        if offset and self._characters[offset - 1] == "\n":
            return offset
        found = self._characters.find("\n", offset)
        return found + 1 if found >= 0 else len(self._characters)

    def _with_newlines(self, text: str) -> str:
        return text.replace("\n", self._newline)

    def _insert_line(self, after: int, text: str) -> TextEdit:
        """Return the edit that inserts one or more lines after the line of offset `after`."""
        at = self._next_line(after)
        ends = at == 0 or self._characters[at - 1] == "\n"
        before = "" if ends else self._newline
        return TextEdit(at, at, f"{before}{self._with_newlines(text)}{self._newline if ends else ''}")

    def _set_edit(self, node: YamlNode, parent: YamlNode, step: str | int, value: Any) -> TextEdit:
        if node.start is None:
            if not isinstance(step, str):
                raise CannotChangeError
            return self._after_key(parent, step, value)
        if not (node.is_map or node.is_list) or node.flow:
            if not node.flow and "\n" in self._characters[node.start : node.end]:
                raise CannotChangeError
            return TextEdit(node.start, node.end, flow(value))
        kind = dict if node.is_map else list
        if isinstance(value, kind) and value:
            text = self._with_newlines(_joined_lines(_block(value, self._column(node.start))))
            return TextEdit(node.start, self._written_end(node), text)
        if not isinstance(step, str):
            return TextEdit(node.start, self._written_end(node), flow(value))
        # A list may have the same indent as its key, which no other value may have.
        colon = self._characters.find(":", parent.key_ends[step]) + 1
        return TextEdit(colon, self._written_end(node), f" {flow(value)}")

    def _written_end(self, node: YamlNode) -> int:
        """Return the end offset of a value without the trailing newlines that a block scalar includes."""
        end = node.end
        while end and self._characters[end - 1] in "\r\n":
            end -= 1
        return end

    def _after_key(self, parent: YamlNode, step: str, value: Any) -> TextEdit:
        """Return the edit that writes the value of a key without a value."""
        at = self._characters.find(":", parent.key_ends[step]) + 1
        if not at:
            raise CannotChangeError
        return TextEdit(at, at, f" {flow(value)}")

    def _added(self, node: YamlNode, parent: YamlNode | None, steps: Steps, key: str, value: Any) -> TextEdit:
        """Return the edit that adds a key to a mapping."""
        if node.start is None and parent is not None and steps and isinstance(steps[-1], str):
            return self._after_key(parent, steps[-1], {key: value})
        if not node.is_map or node.start is None:
            raise CannotChangeError
        if node.flow:
            return self._last_of_flow(node, f"{scalar(key)}: {flow(value)}")
        indent = self._column(node.start)
        text = f"{' ' * indent}{_joined_lines(_block({key: value}, indent))}"
        own = sorted((at, child) for name, (at, child) in node.children.items() if name not in node.borrowed)
        if not own:
            raise CannotChangeError
        if node.children.keys() >= _OF_OBJECTS:
            # In an object, the short fields after its metadata are usually last.
            metadata = node.children["metadata"][0]
            short = [child for at, child in own if at > metadata and not (child.is_map or child.is_list)]
            return self._insert_line(_end_of_value(short[-1] if short else own[-1][1], own, self._characters), text)
        # Insert before the first block value, so that short fields stay together; never before the first key.
        for (_, before), (_, child) in pairwise(own):
            if (child.is_map or child.is_list) and not child.flow:
                return self._insert_line(_end_of_value(before, own, self._characters), text)
        return self._insert_line(_end_of_value(own[-1][1], own, self._characters), text)

    def _last_of_flow(self, node: YamlNode, text: str) -> TextEdit:
        return TextEdit(node.end - 1, node.end - 1, f"{', ' if node.children or node.elements else ''}{text}")

    def _removed(self, node: YamlNode, parent: YamlNode, step: str | int) -> TextEdit:
        if len(parent.children) + len(parent.elements) < 2:
            # Without its last item the text would mean null, not an empty mapping or list.
            raise CannotChangeError
        if parent.flow:
            if node.start is None:
                raise CannotChangeError
            start = parent.children[step][0] if isinstance(step, str) else node.start
            end = node.end
            if (comma := re.match(r"\s*,\s*", self._characters[end : parent.end])) is not None:
                return TextEdit(start, end + comma.end(), "")
            before = self._characters[parent.start or 0 : start].rstrip()
            if not before.endswith(","):
                raise CannotChangeError
            return TextEdit((parent.start or 0) + len(before) - 1, end, "")
        if isinstance(step, int):
            if node.start is None:
                raise CannotChangeError
            dash = self._characters.rfind("-", 0, node.start)
            line = self._line_start(dash)
            if dash < 0 or self._characters[line:dash].strip():
                raise CannotChangeError
            return TextEdit(line, self._next_line(node.end), "")
        start = parent.children[step][0]
        following = sorted(at for at, _ in parent.children.values() if at > start)
        line = self._line_start(start)
        if self._characters[line:start].strip():
            # The first key of a list item is on the line of the dash.
            if not following:
                raise CannotChangeError
            return TextEdit(start, following[0], "")
        end = max(node.end if node.start is not None else 0, parent.key_ends[step])
        return TextEdit(line, self._next_line(end), "")


def _node_at(root: YamlNode, steps: Steps) -> tuple[YamlNode, YamlNode | None, int]:
    """Return the node that the steps reach, its parent, and the number of steps that exist."""
    node, parent = root, None
    for index, step in enumerate(steps):
        if isinstance(step, str):
            if step not in node.children:
                return node, parent, index
            below = node.children[step][1]
        else:
            if step >= len(node.elements):
                return node, parent, index
            below = node.elements[step]
        # An alias or ``<<`` refers to text at another place, which other values share.
        if step in node.borrowed or below.anchor is not None:
            raise CannotChangeError
        node, parent = below, node
    return node, parent, len(steps)


def _end_of_value(child: YamlNode, own: list[tuple[int, YamlNode]], characters: str) -> int:
    """Return the end offset of a value; for a key without a value, the end of its line."""
    if child.start is not None:
        return child.end
    at = next(at for at, other in own if other is child)
    found = characters.find("\n", at)
    return found if found >= 0 else len(characters)


def fixed_text(text: bytes, fix: Fix) -> bytes:
    """Return a document with a fix applied.

    Raises CannotChangeError if the text does not allow the changes, or would then have another value than intended.
    """
    for one in fix.changes:
        value, _ = yaml_value(text, "")
        change = settled(FieldEdit(one.action, (*fix.object.inside, *one.steps), one.value), value)
        wanted = changed(value, change)
        if wanted == value:
            continue
        try:
            after = edited(text.decode(), next(yaml_trees(text)), change).encode()
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

"""JSON patches (RFC 6902) with the operations that remedies use: add, replace and remove."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from typing import Any, Final

from kschedctl.scheduler.framework.remedy import Operation

#: An index of an array: digits without a leading zero.
_INDEX: Final = re.compile(r"0|[1-9][0-9]*")


class PatchError(ValueError):
    """The error for an operation that cannot be performed."""


def apply_patch(document: Any, patch: Iterable[Operation]) -> Any:
    """Return a document after a patch; the document itself may be modified.

    Parameters
    ----------
    document : object
        The document, as JSON is decoded: dictionaries, lists and values.
    patch : iterable of mapping
        The operations, each with ``op``, ``path`` and, except for ``remove``, ``value``.

    Raises
    ------
    PatchError
        If an operation is another one, or names a place that the document does not have.

    Examples
    --------
    >>> apply_patch({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}, {"op": "remove", "path": "/a/0"}])
    {'a': [2]}
    """
    for operation in patch:
        op, path = operation["op"], operation["path"]
        if op not in ("add", "replace", "remove"):
            raise PatchError(f"{op} is not an operation that is supported")
        value = deepcopy(operation.get("value"))
        if not path:
            document = value
            continue
        target = document
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
        for part in parents:
            target = _member(target, part, path)
        _change(target, last, op, value, path)
    return document


def _member(target: Any, part: str, path: str) -> Any:
    """Return a member of an object or an array."""
    if isinstance(target, dict) and part in target:
        return target[part]
    if isinstance(target, list) and _INDEX.fullmatch(part) and int(part) < len(target):
        return target[int(part)]
    raise PatchError(f"there is no {path}")


def _change(target: Any, last: str, op: str, value: Any, path: str) -> None:
    """Perform an operation on a member of an object or an array."""
    if isinstance(target, list) and op == "add":
        if last != "-" and not (_INDEX.fullmatch(last) and int(last) <= len(target)):
            raise PatchError(f"there is no {path}")
        target.insert(len(target) if last == "-" else int(last), value)
        return
    if op != "add" or not isinstance(target, dict):
        # Only what exists is replaced or removed.
        _member(target, last, path)
    key: Any = int(last) if isinstance(target, list) else last
    if op == "remove":
        del target[key]
    else:
        target[key] = value

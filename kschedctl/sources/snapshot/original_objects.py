"""The originals of nodes and pods, including fields that scheduling does not depend on, to be sent to extenders."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.records import PodInterner
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.sources.snapshot.decoding import JsonText, decode

_KEPT: Final = (Node, Pod)
#: kube-scheduler drops this field from its cached pods.
_MANAGED_FIELDS: Final = "managedFields"
_NAME: Final = "name"


class OriginalObjects:
    """The originals of nodes and pods: JSON text for snapshots, decoded data for manifests."""

    def __init__(self) -> None:
        self._originals: dict[tuple[type, str, str], bytes | tuple[ApiObject, dict[str, Any]]] = {}

    def keep(self, obj: ApiObject, original: JsonText | dict[str, Any]) -> None:
        """Store the original of an object; a later object of the same name replaces it."""
        if isinstance(obj, _KEPT):
            kept = (obj, original) if isinstance(original, dict) else bytes(original)
            self._originals[type(obj), obj.namespace, obj.name] = kept

    def beside(self, other: "OriginalObjects | None") -> "OriginalObjects":
        """Return these and other originals; for equal names, the others win."""
        both = OriginalObjects()
        both._originals = {**self._originals, **(other._originals if other is not None else {})}
        return both

    def of(self, obj: ApiObject) -> dict[str, Any]:
        """Return an object as JSON: its original, updated with later changes and with defaults.

        Args:
            obj: A node or a pod, possibly changed since it was read.
        """
        # A manifest may omit the namespace.
        keys = ((type(obj), namespace, obj.name) for namespace in (obj.namespace, ""))
        original = next((self._originals[key] for key in keys if key in self._originals), None)
        if original is None:
            return completed(obj, None, {})
        if isinstance(original, bytes):
            original = decode(original, type(obj)), msgspec.json.decode(original)
        before, written = original
        if isinstance(before, Pod):
            # A cluster stores a pod with defaults, and without fields that scheduling does not depend on.
            record = PodInterner().record(before)
            spec = replace(record.spec, node_name=record.node_name)
            before = Pod(metadata=record.metadata, spec=spec, status=record.status)
        whole = completed(obj, before, written)
        for field in ("kind", "apiVersion"):
            # Go's Node and Pod types are encoded without these fields.
            whole.pop(field, None)
        if isinstance(obj, Pod):
            whole.get("metadata", {}).pop(_MANAGED_FIELDS, None)
        return whole


def completed(now: msgspec.Struct, before: msgspec.Struct | None, written: Any) -> dict[str, Any]:
    """Return a struct as JSON: unchanged fields as in the original, changed fields as in the struct.

    Args:
        before: The struct as decoded from the original; fields equal in ``now`` and ``before`` are taken from the
            original.

    >>> from kschedctl.objects.pod import Container
    >>> before, now = Container(name="c", image="old"), Container(name="c", image="new")
    >>> completed(now, before, {"name": "c", "image": "old", "tty": True})
    {'name': 'c', 'image': 'new', 'tty': True}
    """
    out: dict[str, Any] = dict(written) if isinstance(written, dict) else {}
    plain: dict[str, Any] = msgspec.to_builtins(now)
    for field in msgspec.structs.fields(now):
        name, value = field.encode_name, getattr(now, field.name)
        was = getattr(before, field.name) if type(before) is type(now) else None
        same = before is not None and was == value
        if isinstance(value, msgspec.Struct) and name in plain:
            out[name] = completed(value, was, out.get(name))
        elif isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
            out[name] = _completed_items(value, was or (), out.get(name), keep_others=same)
        elif name not in plain:
            if not same:
                out.pop(name, None)
        elif not same or name not in out:
            out[name] = plain[name]
    return out


def _completed_items(
    now: Sequence[msgspec.Struct], before: Sequence[msgspec.Struct], written: Any, *, keep_others: bool
) -> list[dict[str, Any]]:
    """Return the items of a list, each completed from the original item of its name or, without names, its index."""
    items = [item for item in written if isinstance(item, dict)] if isinstance(written, list) else []
    texts = {_item_key(i, item.get(_NAME)): item for i, item in enumerate(items)}
    were = {_item_key(i, getattr(each, _NAME, "")): each for i, each in enumerate(before)}
    found = {
        key: completed(each, were.get(key), texts.get(key))
        for i, each in enumerate(now)
        for key in (_item_key(i, getattr(each, _NAME, "")),)
    }
    if not keep_others:
        return list(found.values())
    # In the order of the original, including items that are not decoded.
    return list({**texts, **found}.values())


def _item_key(index: int, name: object) -> object:
    return name if isinstance(name, str) and name else index

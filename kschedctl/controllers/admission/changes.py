"""An admitted pod, and the changes that admission made to it, field by field, with the responsible plugin."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from kschedctl.objects.pod import Pod

if TYPE_CHECKING:
    from kschedctl.controllers.admission.resource_quota import QuotaRefusal


class FieldChange(msgspec.Struct, frozen=True):
    """A field that an admission plugin set."""

    #: The admission plugin, or the step of the API server, that set the field.
    plugin: str
    #: The field's path, such as ``spec.containers[0].resources.requests[cpu]``.
    path: str
    #: The field's values before and after; ``None`` where the field is not set.
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Admitted:
    """A pod as the cluster would store it.

    Attributes
    ----------
    changes : tuple of FieldChange
        The changed fields, in order.
    warnings : tuple of str
        Messages about values that the cluster snapshot does not contain, and about dropped fields.
    quota_refusals : tuple of QuotaRefusal
        The quotas that would reject the pod.
    """

    pod: Pod
    changes: tuple[FieldChange, ...]
    warnings: tuple[str, ...]
    quota_refusals: "tuple[QuotaRefusal, ...]"


def changes_between(plugin: str, before: Pod, after: Pod) -> tuple[FieldChange, ...]:
    """Return every field in which two pods differ, in the order of the fields."""
    if before is after:
        return ()
    return tuple(
        FieldChange(plugin, path, old, new) for path, old, new in _differences("", _as_data(before), _as_data(after))
    )


def _as_data(pod: Pod) -> Any:
    """Return the pod as plain data, as a manifest contains it."""
    return msgspec.json.decode(msgspec.json.encode(pod))


def _differences(path: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    if before == after:
        return
    kinds = {type(value) for value in (before, after) if value is not None}
    if kinds == {dict}:
        old, new = before or {}, after or {}
        for key in (*new, *(key for key in old if key not in new)):
            yield from _differences(_child_path(path, key), old.get(key), new.get(key))
    elif kinds == {list}:
        old, new = before or [], after or []
        for i in range(max(len(old), len(new))):
            left, right = _at(old, i), _at(new, i)
            # An added or removed item is a single difference.
            if left is None or right is None:
                yield f"{path}[{i}]", left, right
            else:
                yield from _differences(f"{path}[{i}]", left, right)
    else:
        yield path, before, after


def _at(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else None


def _child_path(path: str, key: str) -> str:
    if not path:
        return key
    # These fields are maps whose keys the user chooses.
    is_map = path.rpartition(".")[2] in ("requests", "limits", "overhead", "nodeSelector", "labels", "annotations")
    return f"{path}.{key}" if key.isidentifier() and not is_map else f"{path}[{key}]"

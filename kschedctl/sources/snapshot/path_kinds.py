"""Objects and lists without kind, whose kind only their path tells, as in archives of Insights Operator."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from kschedctl.objects.event import Event
from kschedctl.objects.kinds import api_version_of, is_namespaced, kind_by_name
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.snapshot.decoding import TEXTS, JsonValue
from kschedctl.sources.snapshot.names import READABLE

#: The names in a path that ``kubectl`` does not accept; support bundles and Insights Operator write some of them.
_OTHER_NAMES: Final = {"pvs": "pv", "pvcs": "pvc", "pdbs": "pdb"}
_EVENTS: Final = frozenset({"event", "events"})
#: The longest way from a kind to its object: resources/pods/v1-preferredversion/namespaces/NAMESPACE/NAME.json.
_MOST_FOLDERS: Final = 5
#: The end of the names of API groups, which are folders in a must-gather: metrics.k8s.io/pods.yaml.
_GROUP_END: Final = ".k8s.io"


class _Names(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None


class _Member(msgspec.Struct, rename="camel"):
    """The fields that tell an object from other data."""

    api_version: str | None = None
    kind: str | None = None
    metadata: _Names | None = None


class _List(msgspec.Struct):
    items: list[_Member] | None


class TypedItems(msgspec.Struct, frozen=True):
    """Objects without kind, or a list without kind, with the kind that their path tells.

    Args:
        api_version, kind: Version and kind of items that have none of their own; empty if all have one.
        items: The objects; ``None`` for a single object.
    """

    api_version: str
    kind: str
    items: list[Any] | None


def typed_by_path(value: JsonValue, path: str) -> TypedItems | None:
    """Return what a document without kind and version contains, or ``None`` if it is no object and no list of them.

    Args:
        value: The document: an object, an object with ``items``, or a list.
        path: The path of its file inside the folder or archive.
    """
    is_list = True
    members = _as(value, list[_Member])
    items: Any = None
    if members is not None:
        items = _as(value, list[msgspec.Raw] if isinstance(value, TEXTS) else list[Any])
    elif (listed := _as(value, _List)) is not None:
        members = listed.items or []
        items = _as(value, dict[str, msgspec.Raw] if isinstance(value, TEXTS) else dict[str, Any])["items"]
        items = _as(items, list[msgspec.Raw] | None if isinstance(items, TEXTS) else list[Any] | None) or []
    elif (member := _as(value, _Member)) is not None:
        is_list, members = False, [member]
    if members is None or not all(each.metadata is not None and each.metadata.name for each in members):
        return None
    if members and all(each.kind and each.api_version for each in members):
        return TypedItems("", "", items)
    first = members[0].metadata if members else None
    of_list = "" if is_list or first is None else first.name or ""
    type_ = kind_of_path(path, of_list, (first.namespace or "") if first is not None else "")
    return None if type_ is None else TypedItems(api_version_of(type_), type_.__name__, items)


def _as(value: Any, type_: Any) -> Any:
    try:
        if isinstance(value, TEXTS):
            return msgspec.json.decode(value, type=type_)
        return msgspec.convert(value, type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def kind_of_path(path: str, name: str = "", namespace: str = "") -> type[ApiObject] | None:
    """Return the kind that the path of an object or list tells, or ``None``.

    Args:
        name, namespace: Those of the object, whose own names tell no kind; empty for a list of several namespaces.

    >>> [kind_of_path(path).__name__ for path in ("config/node/a.json", "pvcs/shop.json", "storage-classes.json")]
    ['Node', 'PersistentVolumeClaim', 'StorageClass']
    >>> kind_of_path("config/pod/shop/node.json", "node", "shop").__name__
    'Pod'
    >>> kind_of_path("metrics.k8s.io/pods.yaml"), kind_of_path("config/version.json")
    (None, None)
    """
    *folders, last = path.split("/")
    stem = next((last.removesuffix(suffix) for suffix in READABLE if last.endswith(suffix)), last)
    parts = [stem, *reversed(folders)]
    # The object may be called like a kind, and so may its namespace.
    numbers = sorted(range(len(parts[: _MOST_FOLDERS + 1])), key=lambda at: parts[at] in (name, namespace))
    return next(_kinds(parts, numbers, namespace), None)


def _kinds(parts: list[str], numbers: Iterable[int], namespace: str) -> Iterator[type[ApiObject]]:
    for at in numbers:
        plain = parts[at].lower().replace("-", "").replace("_", "")
        if at + 1 < len(parts) and parts[at + 1].endswith(_GROUP_END):
            plain = f"{plain}.{parts[at + 1]}"
        type_ = Event if plain in _EVENTS else kind_by_name(_OTHER_NAMES.get(plain, plain))
        if type_ is not None and (not namespace or type_ is Event or is_namespaced(type_)):
            yield type_

"""The objects in a document, and the values in it that are meant as objects but lack what every object needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from kschedctl.common.errors import InputError
from kschedctl.common.wording import meant
from kschedctl.linter.values import Steps, at, is_rendered, items, text
from kschedctl.objects.kinds import kind_type
from kschedctl.objects.schema.schema import kinds_by_version
from kschedctl.sources.snapshot.documents import read_envelope

#: The suffix of list kinds, and the kind of a list of objects of any kinds.
LIST: Final = "List"
_TYPE_FIELDS: Final = ("kind", "apiVersion")
_CONTENT: Final = ("metadata", "spec")


class FoundObject(NamedTuple):
    """An object in a document."""

    #: The path of the object in its document.
    inside: Steps
    raw: dict[str, Any]
    api_version: str
    kind: str


class Flaw(NamedTuple):
    """The reason why a value is no object, or a list has no items."""

    #: The path in the document: of the wrong key or value, else of the value that lacks a key.
    steps: Steps
    problem: str
    hint: str
    #: True if the problem is in the field's name.
    key: bool = False


def found_in(value: Any) -> Iterator[FoundObject | Flaw]:
    """Yield the objects of a document and its flaws: those of the document itself, or of the items of a list.

    Nested lists are included. The items of a list of one kind, such as a PodList, have the kind and version of the
    list if they have none.
    """
    waiting: list[tuple[Steps, Any]] = [((), value)]
    while waiting:
        inside, raw = waiting.pop()
        if (flaw := _flaw(raw, inside)) is not None:
            yield flaw
            continue
        api_version, kind = text(at(raw, "apiVersion")), text(at(raw, "kind"))
        if not api_version or not kind:
            continue
        if isinstance(raw.get("items"), list):
            # As for kubectl, any object with items is a list, whatever its kind.
            of_items = {} if kind == LIST else {"apiVersion": api_version, "kind": kind.removesuffix(LIST)}
            numbered = enumerate(_typed(item, of_items) for item in items(raw["items"]))
            waiting += reversed([((*inside, "items", index), item) for index, item in numbered])
            continue
        yield FoundObject(inside, raw, api_version, kind)


def _typed(item: Any, of_list: Mapping[str, str]) -> Any:
    """Return an item of a list of one kind with the kind and version of the list, if it is an object without them."""
    return {**of_list, **item} if isinstance(item, dict) and _has_content(item) else item


def _has_content(raw: Mapping[str, Any]) -> bool:
    return any(isinstance(raw.get(name), dict) for name in _CONTENT)


def _flaw(raw: Any, inside: Steps) -> Flaw | None:
    """Return the flaw of a value that is meant as an object; ``None`` if it has none, or is meant as something else."""
    if not is_rendered(raw if not isinstance(raw, dict) else [*raw, raw.get("kind"), raw.get("apiVersion")]):
        return None
    if not inside and not _seems_object(raw):
        return None
    flaw = _type_flaw(raw, inside)
    if flaw is None and _is_list(raw) and "items" not in raw:
        return _missing(raw, inside, "items", "an empty list has items: []")
    return flaw


def _type_flaw(raw: Any, inside: Steps) -> Flaw | None:
    """Return the flaw of a value whose kind or version is missing or malformed."""
    try:
        envelope = read_envelope(raw)
    except InputError as error:
        (finding,) = error.findings
        steps = (finding.field,) if finding.field else ()
        problem = f"{finding.field}: {finding.problem}" if finding.field else finding.problem
        return Flaw((*inside, *steps), problem, finding.hint)
    if envelope.kind and envelope.api_version:
        return None
    missing = "apiVersion" if envelope.kind else "kind"
    return _missing(raw, inside, missing, "every object needs apiVersion and kind")


def _missing(raw: Mapping[str, Any], inside: Steps, name: str, hint: str) -> Flaw:
    """Return the flaw of a value without a field, which it may have under a misspelt name."""
    if name in raw:
        return Flaw((*inside, name), f"{name} is missing", hint)
    misspelt = _misspelt(name, raw)
    if not misspelt:
        return Flaw(inside, f"{name} is missing", hint)
    return Flaw((*inside, misspelt), f"{name} is missing", f"did you mean {name} in place of {misspelt}?", key=True)


def _misspelt(name: str, raw: Mapping[str, Any]) -> str:
    """Return the key that is a misspelling of a field's name; empty if there is none."""
    return next(iter(meant(name, (key for key in raw if isinstance(key, str)))), "")


def _is_list(raw: Any) -> bool:
    """Report whether a value is meant as a list of objects: of any kinds, or of a kind that scheduling reads."""
    kind = text(at(raw, "kind"))
    return kind == LIST or (
        kind.endswith(LIST) and kind_type(text(at(raw, "apiVersion")), kind.removesuffix(LIST)) is not None
    )


def _seems_object(raw: Any) -> bool:
    """Report whether a document is meant as an object of Kubernetes.

    It has metadata, a spec or items, and both kind and version, however they are spelt, or one of them as Kubernetes
    itself has it. Other tools have files with a kind of their own and without a version.
    """
    if not isinstance(raw, dict) or not (_has_content(raw) or _is_list(raw)):
        return False
    kind, version = (name if name in raw else _misspelt(name, raw) for name in _TYPE_FIELDS)
    if kind and version:
        return True
    if version:
        return isinstance(raw[version], str)
    return bool(kind) and (_is_list(raw) or any(text(raw[kind]) in kinds for kinds in kinds_by_version().values()))

"""YAML by the events of libyaml, through PyYAML: whatever there may be in it.

What the events mean is decided here and in ``yaml_scalars``, because kubectl differs from PyYAML there: a key given
twice has its last value; ``<<`` merges where it stands, so that it overrides keys above it and is overridden by keys
below; keys that are numbers or booleans become text; tags other than the standard ones are ignored; aliases may add
400,000 nodes to a document and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from kschedctl.text.yaml_scalars import (
    FIRST_OF_OTHERS,
    NotFiniteError,
    Scalar,
    integral_as_int,
    plain_key,
    plain_scalar,
)

if TYPE_CHECKING:
    from yaml import ScalarEvent

MAX_ALIAS_NODES: Final = 400_000
MAX_DEPTH: Final = 200
_CHARS_PER_NODE: Final = 100
_MAX_REMEMBERED: Final = 100_000
_TAG_TYPES: Final = {"int": int, "float": float, "bool": bool, "null": type(None)}
_TAG: Final = "tag:yaml.org,2002:"


class _Unset:
    """The key of a mapping that waits for one."""


_NO_KEY: Final = _Unset()


class _Merge:
    """The key ``<<``."""


_MERGE: Final = _Merge()


class BadNodeError(Exception):
    """YAML that JSON has no equivalent for.

    Attributes
    ----------
    problem, hint : str
        What it is, and what to do.
    mark : yaml.Mark
        Where it is.
    """

    def __init__(self, problem: str, mark: Any, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.mark = mark
        self.hint = hint


class EventReader:
    """Builds plain data from the parser's events.

    The elements of a document's ``items`` are encoded as soon as they are complete: a list of objects then costs
    its text and not many times that in Python objects.

    Parameters
    ----------
    text : bytes
        UTF-8.
    depth : int
        How many levels it is nested in already.
    items_as_text : bool
        Whether elements of ``items`` are encoded; else all is plain data.

    Attributes
    ----------
    anchors : dict
        Those of the last document.
    repeated : bool
        Whether a key stood where its mapping had one of that name: given twice, or brought in by ``<<``.
    """

    def __init__(self, text: bytes, depth: int = 0, *, items_as_text: bool = True) -> None:
        import yaml
        from yaml import CBaseLoader

        self._events = yaml.events
        self._next: Any = CBaseLoader(text).get_event
        self._next()
        self._plain: dict[str, Scalar] = {}
        self._max_depth = MAX_DEPTH - depth
        self._items_as_text = items_as_text
        self.repeated = False
        self.anchors: dict[str, tuple[Any, int] | None] = {}

    def next_document(self) -> bool:
        """Go to the next document; false at the end."""
        return isinstance(self._next(), self._events.DocumentStartEvent)

    def document(self) -> Any:
        """Build the value of the document that the reader stands at."""
        # One loop without a call per event: there are several events to a line, and they are the cost of YAML.
        scalar_event, alias_event = self._events.ScalarEvent, self._events.AliasEvent
        mapping_start, sequence_start = self._events.MappingStartEvent, self._events.SequenceStartEvent
        next_event, remembered = self._next, self._plain
        anchors = self.anchors = {}
        # Per open container: itself, the waiting key, its anchor and the number of nodes before it.
        stack: list[tuple[Any, Any, str | None, int]] = []
        container: Any = None
        key: Any = _NO_KEY
        anchor: str | None = None
        before = n_nodes = n_alias_nodes = 0
        while True:
            event = next_event()
            kind = type(event)
            n_nodes += 1
            if kind is scalar_event:
                text = event.value
                if container.__class__ is dict and key is _NO_KEY:
                    key = self._key(event)
                    if event.anchor is not None:
                        anchors[event.anchor] = (text if key is _MERGE else key, 1 + len(text) // _CHARS_PER_NODE)
                    continue
                if not event.implicit[0] or event.tag is not None:
                    value = text if event.implicit[1] else self._tagged(event)
                elif text in remembered:
                    value = remembered[text]
                elif text and text[0] not in FIRST_OF_OTHERS:
                    value = text
                else:
                    value = self._resolve(event)
                if event.anchor is not None:
                    anchors[event.anchor] = (value, 1 + len(text) // _CHARS_PER_NODE)
            elif kind is alias_event:
                value, weight = self._alias(event, anchors)
                n_nodes += weight
                n_alias_nodes += weight
                if n_alias_nodes > MAX_ALIAS_NODES:
                    raise BadNodeError(
                        f"aliases stand for more than {MAX_ALIAS_NODES:,} nodes",
                        event.start_mark,
                        "write out what the aliases repeat, or leave them away",
                    )
                if container.__class__ is dict and key is _NO_KEY:
                    key = self._alias_key(value, event)
                    continue
            elif kind is mapping_start or kind is sequence_start:
                if container.__class__ is dict and key is _NO_KEY:
                    raise BadNodeError("a mapping or list cannot be a key", event.start_mark)
                if len(stack) == self._max_depth:
                    raise BadNodeError(f"is nested more than {MAX_DEPTH} levels deep", event.start_mark)
                stack.append((container, key, anchor, before))
                container, key = ({} if kind is mapping_start else []), _NO_KEY
                anchor, before = event.anchor, n_nodes - 1
                if anchor is not None:
                    anchors[anchor] = None
                continue
            else:
                value = container
                if anchor is not None:
                    anchors[anchor] = (value, n_nodes - before)
                container, key, anchor, before = stack.pop()
            if container is None:
                next_event()
                return value
            if container.__class__ is list:
                if len(stack) == 2 and self._items_as_text and stack[1][1] == "items":
                    value = msgspec.Raw(msgspec.json.encode(value))
                container.append(value)
            elif key is _MERGE:
                self._merge(container, value, event)
                key = _NO_KEY
            else:
                if key in container:
                    self.repeated = True
                container[key] = value
                key = _NO_KEY

    def _resolve(self, event: ScalarEvent) -> Scalar:
        """The value of a scalar without quotes; remembered, because manifests repeat themselves."""
        try:
            value = plain_scalar(event.value)
        except NotFiniteError:
            problem = f"{event.value} has no equivalent in JSON"
            raise BadNodeError(problem, event.start_mark, "quote it if it is text") from None
        if len(self._plain) < _MAX_REMEMBERED:
            self._plain[event.value] = value
        return value

    def _tagged(self, event: ScalarEvent) -> Scalar:
        tag, text = event.tag, event.value
        short = tag.removeprefix(_TAG) if tag else ""
        if short == "binary":
            import base64
            import binascii

            try:
                return base64.b64decode("".join(text.split()), validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise BadNodeError("!!binary value is not base64 of text", event.start_mark) from None
        if short not in ("int", "float", "bool", "null", "timestamp") or tag == short:
            return text
        try:
            value = plain_scalar(text)
        except NotFiniteError:
            raise BadNodeError(f"{text} has no equivalent in JSON", event.start_mark) from None
        if short == "timestamp":
            return text
        if short == "float" and isinstance(value, int) and not isinstance(value, bool):
            return integral_as_int(float(value))
        if type(value) is not _TAG_TYPES[short]:
            raise BadNodeError(f"{text!r} is not of the tagged type !!{short}", event.start_mark)
        return value

    def _key(self, event: ScalarEvent) -> str | _Merge:
        text: str = event.value
        if text == "<<" and (event.implicit[0] or event.tag == f"{_TAG}merge"):
            return _MERGE
        if not event.implicit[0] or event.tag is not None:
            return text if event.implicit[1] else self._alias_key(self._tagged(event), event)
        try:
            return plain_key(text)
        except ValueError as error:
            raise BadNodeError(str(error), event.start_mark, f'quote it if it is text: "{text}"') from None

    def _alias_key(self, value: Any, event: Any) -> str:
        """A key whose value is known already: that of an alias or of a scalar with a tag."""
        if isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            return str(msgspec.json.encode(value), "ascii")
        raise BadNodeError("null, a mapping or a list cannot be a key", event.start_mark)

    def _alias(self, event: Any, anchors: dict[str, tuple[Any, int] | None]) -> tuple[Any, int]:
        if event.anchor not in anchors:
            raise BadNodeError(f"there is no anchor &{event.anchor} before this alias", event.start_mark)
        anchored = anchors[event.anchor]
        if anchored is None:
            raise BadNodeError(f"anchor &{event.anchor} contains itself", event.start_mark)
        return anchored

    def _merge(self, target: dict[str, Any], value: Any, event: Any) -> None:
        sources = value if isinstance(value, list) else [value]
        # Earlier mappings of a list take precedence.
        for source in reversed(sources):
            if not isinstance(source, dict):
                raise BadNodeError("<< needs a mapping or a list of mappings", event.start_mark)
            target.update(source)

"""The full YAML parser: plain data built from the events of libyaml, through PyYAML.

The events are interpreted here and in ``yaml_scalars``, because kubectl differs from PyYAML: a repeated key has its
last value; ``<<`` merges at its position, so that it overrides keys above it and is overridden by keys below; keys
that are numbers or booleans become text; tags other than the standard ones are ignored; aliases may add at most
400,000 nodes to a document.
"""

import re
from decimal import Decimal
from math import copysign, inf, isinf
from struct import pack, unpack
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from yaml import ScalarEvent


# Unquoted YAML scalars and keys, with the types and values that kubectl gives them.
#
# kubectl parses YAML 1.1 with go-yaml v2, which differs from PyYAML in corner cases that occur in manifests:
#
# ============================  =====================  ==================
# text                          here, as in kubectl    PyYAML
# ============================  =====================  ==================
# ``y``, ``N``                  a boolean              a string
# ``1e3``, ``+.5``              a number               a string
# ``08``                        the number 8           a string
# ``0o17``                      the number 15          a string
# ``22:22``                     a string               1342 (base 60)
# ``2024-05-01``                a string               a date
# ``.inf``, ``.nan``            an error (no JSON)     a number
# ============================  =====================  ==================

Scalar = str | int | float | bool | None

_BOOLEANS: Final = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
_NOT_FINITE: Final = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), ".nan"),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), ".inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-.inf"),
}
_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_BETWEEN_DIGITS: Final = re.compile(r"(?<=[0-9])_(?=[0-9])")
_INT64_DIGITS: Final = 20
#: The characters that an unquoted scalar other than a string can begin with; any other scalar is a string.
FIRST_OF_OTHERS: Final = frozenset("+-.0123456789yYnNtTfFoO~")


class NotFiniteError(ValueError):
    """An infinity or not-a-number, which JSON does not have."""


def plain_scalar(text: str) -> Scalar:
    """Return the value of an unquoted scalar without a tag.

    Args:
        text: The scalar as libyaml reports it.

    Returns: The value. Numbers with an integral value below 1e21 are ints, as JSON writes them.

    Raises NotFiniteError if the text is ``.inf``, ``.nan`` or another spelling of them.
    """
    if text in _NULLS:
        return None
    if text[0] not in FIRST_OF_OTHERS:
        return text
    if (boolean := _BOOLEANS.get(text)) is not None:
        return boolean
    if text in _NOT_FINITE:
        raise NotFiniteError(_NOT_FINITE[text])
    number = _parsed_number(text)
    if number is None:
        return text
    return integral_as_int(number) if isinstance(number, float) else number


def plain_key(text: str) -> str:
    """Return the name of an unquoted mapping key: always text, as JSON requires.

    Args:
        text: The key as libyaml reports it.

    Raises ValueError if the key is null or an integer above int64, which kubectl rejects.
    """
    if text in _NULLS:
        raise ValueError("null cannot be a key")
    if text[0] not in FIRST_OF_OTHERS:
        return text
    if (boolean := _BOOLEANS.get(text)) is not None:
        return "true" if boolean else "false"
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    number = _parsed_number(text)
    if number is None:
        return text
    if isinstance(number, int):
        if number >= 2**63:
            raise ValueError(f"{text} is too large to be a key")
        return str(number)
    return _float32_text(number)


def integral_as_int(number: float) -> int | float:
    """Return the int that Go's JSON writes for an integral float below 1e21; any other float unchanged."""
    if abs(number) < 1e21 and number.is_integer():
        # Go prints the shortest decimal that parses as this float, padded with zeros.
        return int(Decimal(repr(number)))
    return number


def _parsed_number(text: str) -> int | float | None:
    # Underscores are allowed anywhere, but only between digits in a number that starts with the point.
    plain = _BETWEEN_DIGITS.sub("", text) if text[0] == "." else text.replace("_", "")
    if text[0] != "." and (match := _INTEGER.fullmatch(plain)):
        sign, hexadecimal, binary, octal, decimal = match.groups()
        if decimal and len(decimal) > _INT64_DIGITS:
            # Such a number is a float, not an integer; Python also refuses to parse very long integers.
            return _float(plain)
        digits, base = next((d, b) for d, b in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10)) if d)
        value = int(digits, base) * (-1 if sign == "-" else 1)
        if -(2**63) <= value < (2**63 if sign else 2**64):
            return value
    return _float(plain) if _FLOAT.fullmatch(plain) else None


def _float(text: str) -> float | None:
    number = float(text)
    return None if isinf(number) else number


def _float32_text(number: float) -> str:
    """Return the shortest decimal that parses as the same 32-bit float; kubectl converts float keys this way."""
    try:
        packed = pack("f", number)
    except OverflowError:
        # Versions of Python before 3.14 return infinity.
        packed = pack("f", copysign(inf, number))
    (single,) = unpack("f", packed)
    if isinf(single):
        return "-.inf" if single < 0 else ".inf"
    text = next(t for t in (f"{single:.{n}e}" for n in range(9)) if pack("f", float(t)) == packed)
    mantissa, _, exponent = text.partition("e")
    if -4 <= int(exponent) < 6:
        return format(Decimal(text), "f")
    return f"{mantissa}e{exponent[0]}{exponent[1:].rjust(2, '0')}"


MAX_ALIAS_NODES: Final = 400_000
MAX_DEPTH: Final = 200
_CHARS_PER_NODE: Final = 100
_MAX_REMEMBERED: Final = 100_000
_TAG_TYPES: Final = {"int": int, "float": float, "bool": bool, "null": type(None)}
_TAG: Final = "tag:yaml.org,2002:"


class _Merge:
    """The type of ``_MERGE``, which represents the key ``<<``."""


_MERGE: Final = _Merge()


class BadNodeError(Exception):
    """YAML without an equivalent in JSON."""

    def __init__(self, problem: str, mark: Any, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.mark = mark
        self.hint = hint


class EventReader:
    """A parser that builds plain data from libyaml's events.

    The elements of a document's ``items`` are encoded as soon as they are complete: a list of objects then needs the
    memory of its text, instead of many times that in Python objects.

    repeated: True if a mapping contained a key that it already had: repeated, or merged by ``<<``.

    Args:
        depth: The nesting depth at which the text is placed in its document.
        items_as_text: True if the elements of ``items`` are encoded as JSON; False for plain data only.
    """

    def __init__(self, text: bytes, depth: int = 0, *, items_as_text: bool = True) -> None:
        import yaml
        from yaml import CBaseLoader

        self._events = yaml.events
        self._next: Any = CBaseLoader(text).get_event
        self._next()
        self._plain: dict[str, Scalar] = {}
        self._keys: dict[str, str] = {}
        self._max_depth = MAX_DEPTH - depth
        self._items_as_text = items_as_text
        self._n_nodes = self._n_alias_nodes = 0
        self.repeated = False
        #: Each anchor's value and number of nodes; ``None`` while the anchored value is still being parsed.
        self.anchors: dict[str, tuple[Any, int] | None] = {}

    def next_document(self) -> bool:
        """Go to the next document; return False at the end of the text."""
        return isinstance(self._next(), self._events.DocumentStartEvent)

    def document(self) -> Any:
        """Build the value of the current document."""
        self.anchors = {}
        self._n_alias_nodes = 0
        value = self._build_node(self._next(), 0)
        self._next()
        return value

    def _build_node(self, event: Any, depth: int, key: str | _Merge | None = None) -> Any:
        """Build the value that begins with `event`."""
        kind = type(event)
        if kind is self._events.ScalarEvent:
            return self._scalar(event)
        if kind is self._events.AliasEvent:
            return self._alias(event)
        if depth == self._max_depth:
            raise BadNodeError(f"is nested more than {MAX_DEPTH} levels deep", event.start_mark)
        anchor, before = event.anchor, self._n_nodes
        if anchor is not None:
            self.anchors[anchor] = None
        if kind is self._events.MappingStartEvent:
            value: Any = self._mapping(depth)
        else:
            value = self._sequence(depth, as_text=self._items_as_text and depth == 1 and key == "items")
        # The container's end event counts as a node; its start event is counted by the surrounding container.
        self._n_nodes += 1
        if anchor is not None:
            self.anchors[anchor] = (value, self._n_nodes - before + 1)
        return value

    def _mapping(self, depth: int) -> dict[str, Any]:
        next_event, scalar_event = self._next, self._events.ScalarEvent
        mapping_end = self._events.MappingEndEvent
        out: dict[str, Any] = {}
        while type(event := next_event()) is not mapping_end:
            key = self._mapping_key(event)
            event = next_event()
            value = self._scalar(event) if type(event) is scalar_event else self._build_node(event, depth + 1, key)
            self._n_nodes += 2
            if isinstance(key, _Merge):
                sources = value if isinstance(value, list) else [value]
                # Earlier mappings of a list take precedence.
                for source in reversed(sources):
                    if not isinstance(source, dict):
                        raise BadNodeError("<< needs a mapping or a list of mappings", event.start_mark)
                    out.update(source)
            else:
                if key in out:
                    self.repeated = True
                out[key] = value
        return out

    def _sequence(self, depth: int, *, as_text: bool) -> list[Any]:
        next_event, sequence_end = self._next, self._events.SequenceEndEvent
        out: list[Any] = []
        while type(event := next_event()) is not sequence_end:
            value = self._build_node(event, depth + 1)
            self._n_nodes += 1
            out.append(msgspec.Raw(msgspec.json.encode(value)) if as_text else value)
        return out

    def _scalar(self, event: "ScalarEvent") -> Scalar:
        text: str = event.value
        if not event.implicit[0] or event.tag is not None:
            value = text if event.implicit[1] else self._tagged(event)
        elif text in self._plain:
            value = self._plain[text]
        elif text and text[0] not in FIRST_OF_OTHERS:
            value = text
        else:
            # The value of an unquoted scalar; values are cached, because manifests are repetitive.
            try:
                value = plain_scalar(event.value)
            except NotFiniteError:
                problem = f"{event.value} has no equivalent in JSON"
                raise BadNodeError(problem, event.start_mark, "quote it if it is text") from None
            if len(self._plain) < _MAX_REMEMBERED:
                self._plain[event.value] = value
        if event.anchor is not None:
            self._anchor(event, value)
        return value

    def _anchor(self, event: Any, value: Scalar) -> None:
        self.anchors[event.anchor] = (value, 1 + len(event.value) // _CHARS_PER_NODE)

    def _tagged(self, event: "ScalarEvent") -> Scalar:
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

    def _mapping_key(self, event: Any) -> str | _Merge:
        if type(event) is self._events.AliasEvent:
            return self._known_key(self._alias(event), event)
        if type(event) is not self._events.ScalarEvent:
            raise BadNodeError("a mapping or list cannot be a key", event.start_mark)
        key = self._scalar_key(event)
        if event.anchor is not None:
            self._anchor(event, event.value if isinstance(key, _Merge) else key)
        return key

    def _scalar_key(self, event: "ScalarEvent") -> str | _Merge:
        text: str = event.value
        if text == "<<" and (event.implicit[0] or event.tag == f"{_TAG}merge"):
            return _MERGE
        if not event.implicit[0] or event.tag is not None:
            return text if event.implicit[1] else self._known_key(self._tagged(event), event)
        key = self._keys.get(text)
        if key is None:
            try:
                key = plain_key(text)
            except ValueError as error:
                raise BadNodeError(str(error), event.start_mark, f'quote it if it is text: "{text}"') from None
            if len(self._keys) < _MAX_REMEMBERED:
                self._keys[text] = key
        return key

    def _known_key(self, value: Any, event: Any) -> str:
        """Convert the value of an alias or of a tagged scalar to a key."""
        if isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            return str(msgspec.json.encode(value), "ascii")
        raise BadNodeError("null, a mapping or a list cannot be a key", event.start_mark)

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            raise BadNodeError(f"there is no anchor &{event.anchor} before this alias", event.start_mark)
        anchored = self.anchors[event.anchor]
        if anchored is None:
            raise BadNodeError(f"anchor &{event.anchor} contains itself", event.start_mark)
        value, weight = anchored
        self._n_nodes += weight
        self._n_alias_nodes += weight
        if self._n_alias_nodes > MAX_ALIAS_NODES:
            raise BadNodeError(
                f"aliases expand to more than {MAX_ALIAS_NODES:,} nodes",
                event.start_mark,
                "write out what the aliases repeat, or remove them",
            )
        return value

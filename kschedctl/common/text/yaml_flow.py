"""Flow collections on one line, such as ``{cpu: 500m}`` and ``[a, b]``, with scalars that mean the same everywhere."""

import re
from typing import Any, Final

from kschedctl.common.text.yaml_events import FIRST_OF_OTHERS, plain_key, plain_scalar

#: The maximum nesting depth.
_MAX_DEPTH: Final = 16
#: The maximum length of a key; libyaml refuses keys of more than 1,024 characters.
_MAX_KEY: Final = 200
#: A quoted scalar without escapes, or an unquoted one of characters without a meaning in YAML. Colons and spaces have
#: none between two of them.
_SCALAR: Final = re.compile(
    r"\"([^\"\\\t]*)\"|'([^'\t]*)'|(-{0,2}[A-Za-z0-9_/.$](?:[A-Za-z0-9_/.$+*=@%()<>;&|!^~-]|[: ](?=[A-Za-z0-9_/.$]))*)"
)


def flow_collection(text: str) -> Any:
    """Return the value of a text that is a flow collection.

    Raises ValueError if the text is anything else, or needs the full YAML parser.

    >>> flow_collection('{args: [--port, 80], image: "nginx:1"}')
    {'args': ['--port', 80], 'image': 'nginx:1'}
    """
    reader = _Reader(text)
    value = reader.node(0)
    reader.end()
    return value


class _Reader:
    """A parser of a text from left to right. Its methods raise ValueError where the text needs the full parser."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def node(self, depth: int) -> Any:
        """Read a collection or a scalar."""
        if depth > _MAX_DEPTH:
            raise ValueError("is nested too deeply")
        if self._passes("{"):
            return self._mapping(depth)
        if self._passes("["):
            return self._sequence(depth)
        text, is_quoted = self._scalar()
        return text if is_quoted or (text[0] not in FIRST_OF_OTHERS) else plain_scalar(text)

    def end(self) -> None:
        """Check that the text is read to its end."""
        if self._at < len(self._text):
            raise ValueError("continues after the collection")

    def _mapping(self, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        while not (self._passes("}") if not out else self._ends("}")):
            key, is_quoted = self._scalar()
            # After an unquoted key, a colon without a space is part of the key.
            if not self._text.startswith(":" if is_quoted else ": ", self._at) or len(key) > _MAX_KEY:
                raise ValueError("is no simple key")
            self._at += 1
            if not is_quoted:
                key = plain_key(key)
            if key in out:
                raise ValueError("is a repeated key")
            out[key] = self.node(depth + 1)
        return out

    def _sequence(self, depth: int) -> list[Any]:
        out: list[Any] = []
        while not (self._passes("]") if not out else self._ends("]")):
            out.append(self.node(depth + 1))
        return out

    def _scalar(self) -> tuple[str, bool]:
        """Return a scalar, and True if it is quoted."""
        self._skip_spaces()
        found = _SCALAR.match(self._text, self._at)
        if found is None:
            raise ValueError("is no simple scalar")
        self._at = found.end()
        text: str = found[found.lastindex or 0]
        return text, found.lastindex != 3

    def _ends(self, bracket: str) -> bool:
        """Pass the end of a collection or the comma before its next element; return True for the end."""
        if self._passes(bracket):
            return True
        if not self._passes(","):
            raise ValueError("is no end of an element")
        return False

    def _passes(self, character: str) -> bool:
        """Pass a character, if it comes next after spaces."""
        self._skip_spaces()
        if not self._text.startswith(character, self._at):
            return False
        self._at += 1
        return True

    def _skip_spaces(self) -> None:
        while self._text.startswith(" ", self._at):
            self._at += 1

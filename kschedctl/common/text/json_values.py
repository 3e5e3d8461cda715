"""Values as JSON: encoding of any text, even of file names that are not UTF-8, and decoding of outside text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

#: A lone surrogate: Python decodes each byte of a file name or argument that is not UTF-8 to one.
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def encoded_json(value: object, enc_hook: Callable[[Any], Any] | None = None) -> bytes:
    r"""Return a value as JSON in UTF-8; lone surrogates, which UTF-8 cannot contain, become U+FFFD.

    Parameters
    ----------
    value : object
        Any value that msgspec encodes.
    enc_hook : callable, optional
        Converts values of other types.

    Examples
    --------
    >>> encoded_json({"file": "caf\udce9.yaml"}).decode()
    '{"file":"caf�.yaml"}'
    """
    try:
        return msgspec.json.encode(value, enc_hook=enc_hook)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(msgspec.to_builtins(value, enc_hook=enc_hook)))


def encodable(text: str) -> str:
    """Return a text with U+FFFD in place of lone surrogates, so that it can be encoded as UTF-8."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def decoded_json(text: str | bytes) -> Any:
    """Return the value of a JSON text that comes from outside.

    Raises
    ------
    ValueError
        If the text is not JSON, is nested too deeply, or has a number of more than 4,300 digits.
    """
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        raise ValueError("a number has more than 4,300 digits") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    return [_encodable(inner) for inner in value] if isinstance(value, list | tuple) else value

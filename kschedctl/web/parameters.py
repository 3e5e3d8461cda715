"""The parameters of a request, from its address or from a form."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl

from litestar import Request

from kschedctl.common.errors import InputError

_MOST_QUERY: Final = 16_384
_MOST_VALUES: Final = 1000


def parameters(request: Request[Any, Any, Any]) -> list[tuple[str, str]]:
    """Return the parameters after the path of an address, in their order.

    Raises
    ------
    InputError
        If they are too long or too many, or not UTF-8.
    """
    text = request.scope["query_string"]
    if len(text) > _MOST_QUERY:
        raise InputError(f"the parameters are longer than {_MOST_QUERY:,} bytes")
    return _parsed(text)


async def form_values(request: Request[Any, Any, Any]) -> list[tuple[str, str]]:
    """Return the fields of a form that was posted, in their order.

    Raises
    ------
    InputError
        If the body is no form.
    """
    return _parsed(await request.body())


def _parsed(text: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_VALUES)
    except ValueError:
        raise InputError("the parameters are not percent-encoded UTF-8, or too many") from None

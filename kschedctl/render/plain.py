"""An answer as plain dicts and lists, the basis of JSON, YAML and JSONPath output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kschedctl.answers.base import Answer

_FIRST: Final = ("apiVersion", "kind")
#: The provenance of an answer, which comes after the answer itself.
_LAST: Final = ("rules", "snapshot", "warnings", "doubts", "missing", "notModelled")


def plain(value: Answer) -> Any:
    """Return the data of an answer: apiVersion and kind first, the provenance last."""
    import msgspec

    from kschedctl.answers.operands import encode_operands
    from kschedctl.text.json_values import encoded_json

    return _ordered(msgspec.json.decode(encoded_json(value, encode_operands)))


def _ordered(data: dict[str, Any]) -> dict[str, Any]:
    if "items" in data:
        data["items"] = [_ordered(item) for item in data["items"]]
    own = {name: value for name, value in data.items() if name not in _FIRST and name not in _LAST}
    return (
        {name: data[name] for name in _FIRST if name in data}
        | own
        | {name: data[name] for name in _LAST if name in data}
    )

"""The operands of a reason in an answer: typed until the answer is encoded, then a plain JSON object."""

from __future__ import annotations

from typing import Any, Final

from kschedctl.scheduler.framework.remedy import Operands


class OperandsData:
    """The operands of a reason: typed in Python, a plain object in JSON.

    Parameters
    ----------
    operands : Operands or None
        The operands; ``None`` if the reason has none, which is encoded as an empty object.
    """

    __slots__ = ("operands",)

    def __init__(self, operands: Operands | None) -> None:
        self.operands: Final = operands

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OperandsData) and other.operands == self.operands

    def __hash__(self) -> int:
        return hash(self.operands)

    def __repr__(self) -> str:
        return f"OperandsData({self.operands!r})"


def encode_operands(value: object) -> object:
    """Return the JSON object that msgspec writes for operands.

    Raises
    ------
    NotImplementedError
        If the value is of another type.
    """
    if isinstance(value, OperandsData):
        return value.operands.data() if value.operands is not None else {}
    raise NotImplementedError(f"answers have no {type(value).__name__}")


def schema_of(kind: type) -> dict[str, Any]:
    """Return the JSON Schema of operands: empty, because each plugin has its own; the field declares the object.

    Raises
    ------
    NotImplementedError
        If the type is another one.
    """
    if kind is OperandsData:
        return {}
    raise NotImplementedError(f"answers have no {kind.__name__}")

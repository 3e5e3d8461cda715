"""How the operands of a reason stand in an answer: typed until the answer is written, then a plain JSON object."""

from __future__ import annotations

from typing import Any, Final

from kschedctl.framework.operands import Operands


class OperandsData:
    """The operands of a reason: typed for those who word and render, a plain object in JSON.

    Parameters
    ----------
    operands : Operands or None
        The operands; ``None`` for none, which is an empty object.
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
    """What msgspec writes for operands.

    Raises
    ------
    NotImplementedError
        For a value of another type.
    """
    if isinstance(value, OperandsData):
        return value.operands.data() if value.operands is not None else {}
    raise NotImplementedError(f"answers have no {type(value).__name__}")


def schema_of(kind: type) -> dict[str, Any]:
    """The JSON Schema of operands, of which each plugin has its own: that they are an object stands with the field.

    Raises
    ------
    NotImplementedError
        For another type.
    """
    if kind is OperandsData:
        return {}
    raise NotImplementedError(f"answers have no {kind.__name__}")

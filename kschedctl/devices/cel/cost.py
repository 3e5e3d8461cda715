"""What an evaluation costs, in cel-go's units (``interpreter/runtimecost.go``, apiserver ``cel/library/cost.go``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from kschedctl.devices.cel.syntax import Call, Constant, ListLiteral, Name, Node, Select
from kschedctl.devices.cel.values import CIDR, IP, URL, CelError, Quantity, Semver

#: A selector may cost so much.
LIMIT: Final = 1_000_000
EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"
LIST: Final = 10
MAP: Final = 30
_TEXT: Final = 0.1
_REGEX: Final = 0.25
_OF_TEXT: Final = frozenset(
    {
        *("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "ip"),
        *("quantity", "isQuantity", "semver", "isSemver", "startsWith", "endsWith", "bytes"),
    }
)
_OF_TEXT_TWICE: Final = frozenset({"replace", "split", "ip.isCanonical"})
_TRAVERSING: Final = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})
#: Conversions of constants are worked out when an expression is compiled.
_CONVERSIONS: Final = frozenset(
    {*("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")}
)
_COMPARING: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})


class Meter:
    """The cost so far."""

    __slots__ = ("cost",)

    def __init__(self) -> None:
        self.cost = 0

    def add(self, cost: int) -> None:
        """Count what a step costs.

        Raises
        ------
        CelError
            Beyond the limit.
        """
        self.cost += cost
        if self.cost > LIMIT:
            raise CelError(EXCEEDED)


def step_cost(operand: Node) -> int:
    """What a step into a value costs: one more where the value does not come from a variable."""
    while True:
        match operand:
            case Name():
                return 1
            case Select(inner, _, False) | Call("_[_]" | "_[?_]" | "_?._", (inner, _), _):
                operand = inner
            case _:
                return 2


def is_path(node: Node) -> bool:
    """Whether a value is found by steps from a variable."""
    match node:
        case Name():
            return True
        case Select(operand, _, False) | Call("_[_]" | "_[?_]" | "_?._", (operand, _), _):
            return is_path(operand)
    return False


def is_free(function: str, arguments: Sequence[Node]) -> bool:
    """Whether a call costs nothing: cel-go has worked it out before, or it is no call to it."""
    if function in ("or", "orValue"):
        return True
    match arguments:
        case (Constant(),):
            return function in _CONVERSIONS
        case (_, ListLiteral(elements)):
            return function == "@in" and all(isinstance(element, Constant) for element in elements)
    return False


def call_cost(function: str, arguments: Sequence[Any], result: Any) -> int:
    """What a call costs, its arguments not counted."""
    sizes = [_size(argument) for argument in arguments[:2]]
    if function in _OF_TEXT:
        cost = _text(sizes[0]) if not (function == "bytes" and isinstance(arguments[0], bytes)) else 1
    elif function in _OF_TEXT_TWICE:
        cost = math.ceil(sizes[0] * 2 * _TEXT)
    elif function in _TRAVERSING:
        cost = _traversal(arguments[0])
    elif function == "join":
        cost = math.ceil(_size(result) * 2 * _TEXT)
    elif function in ("matches", "find", "findAll"):
        cost = math.ceil((1.0 + sizes[0]) * _TEXT) * math.ceil(sizes[1] * _REGEX)
    elif function == "contains":
        cost = _text(sizes[0]) * _text(sizes[1])
    elif function == "@in":
        cost = sizes[1] if isinstance(arguments[1], list) else 1
    elif function in ("_==_", "_!=_"):
        unit = function == "_==_" and isinstance(arguments[0], Quantity | Semver | IP | CIDR | URL)
        cost = 1 if unit else _text(min(sizes))
    elif function in _COMPARING:
        cost = _text(min(sizes)) if isinstance(arguments[0], str | bytes) else 1
    elif function == "_+_" and isinstance(arguments[0], str | bytes):
        cost = _text(sum(sizes))
    elif function.startswith("sets."):
        cost = 1 + sizes[0] * sizes[1] * (2 if function == "sets.equivalent" else 1)
    elif function in ("containsIP", "containsCIDR"):
        cost = _containment(function, arguments, sizes)
    else:
        cost = 1
    return cost


def _containment(function: str, arguments: Sequence[Any], sizes: Sequence[int]) -> int:
    cost = math.ceil(2 * sizes[0] * _TEXT)
    if function == "containsCIDR":
        cost += _text(sizes[0]) + 1
    return cost + (_text(sizes[1]) if isinstance(arguments[1], str) else 0)


def _text(size: int) -> int:
    return math.ceil(size * _TEXT)


def _size(value: Any) -> int:
    """The size that costs are reckoned with; 1 for what has none."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, IP):
        return len(value.address.packed)
    return math.ceil(value.bits / 8) if isinstance(value, CIDR) else 1


def _traversal(value: Any) -> int:
    if isinstance(value, str):
        return int(len(value.encode()) * _TEXT)
    if isinstance(value, bytes):
        return int(len(value) * _TEXT)
    if isinstance(value, list):
        return sum(map(_traversal, value))
    if isinstance(value, dict):
        return sum(_traversal(key) + _traversal(one) for key, one in value.items())
    return 1

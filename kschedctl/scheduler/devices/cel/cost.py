"""The cost of an evaluation in cel-go's units (``interpreter/runtimecost.go``, apiserver ``cel/library/cost.go``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from kschedctl.scheduler.devices.cel.syntax import Call, Constant, Identifier, ListLiteral, Node, Select
from kschedctl.scheduler.devices.cel.values import CIDR, IP, URL, CelError, Quantity, Semver

#: The largest cost that an evaluation of a selector may have.
LIMIT: Final = 1_000_000
EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"
LIST: Final = 10
MAP: Final = 30
_TEXT: Final = 0.1
_REGEX: Final = 0.25
#: Values whose comparison for equality costs 1.
_OF_ONE_UNIT: Final = (Quantity, Semver, IP, CIDR, URL)
#: Conversions of constants are evaluated at compile time, without cost.
_CONVERSIONS: Final = frozenset(
    {*("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")}
)


class Meter:
    """A counter of the cost of one evaluation."""

    __slots__ = ("cost",)

    def __init__(self) -> None:
        self.cost = 0

    def add(self, cost: int) -> None:
        """Add the cost of a step.

        Raises
        ------
        CelError
            If the cost exceeds the limit.
        """
        self.cost += cost
        if self.cost > LIMIT:
            raise CelError(EXCEEDED)


def step_cost(operand: Node) -> int:
    """Return the cost of a step into a value: 1 if the value comes from a variable, otherwise 2."""
    while True:
        match operand:
            case Identifier():
                return 1
            case Select(inner, _, False) | Call("_[_]" | "_[?_]" | "_?._", (inner, _), _):
                operand = inner
            case _:
                return 2


def is_path(node: Node) -> bool:
    """Report whether a value is reached by steps from a variable."""
    match node:
        case Identifier():
            return True
        case Select(operand, _, False) | Call("_[_]" | "_[?_]" | "_?._", (operand, _), _):
            return is_path(operand)
    return False


def is_free(function: str, arguments: Sequence[Node]) -> bool:
    """Report whether a call is free: cel-go evaluates it at compile time, or does not treat it as a call."""
    if function in ("or", "orValue"):
        return True
    match arguments:
        case (Constant(),):
            return function in _CONVERSIONS
        case (_, ListLiteral(elements)):
            return function == "@in" and all(isinstance(element, Constant) for element in elements)
    return False


def call_cost(function: str, arguments: Sequence[Any], result: Any) -> int:
    """Return the cost of a call without that of its arguments."""
    cost = _COSTS.get(function)
    return 1 if cost is None else cost(arguments, [_size(argument) for argument in arguments[:2]], result)


def _text(size: int) -> int:
    return math.ceil(size * _TEXT)


def _size(value: Any) -> int:
    """Return the size of a value from which costs are computed; 1 for values without a size."""
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


_Cost = Callable[[Sequence[Any], Sequence[int], Any], int]


def _contained(values: Sequence[Any], sizes: Sequence[int], result: Any) -> int:
    return math.ceil(2 * sizes[0] * _TEXT) + (_text(sizes[1]) if isinstance(values[1], str) else 0)


#: The cost of a call by its arguments, the sizes of the first two, and its result; any other function costs 1.
_COSTS: Final[dict[str, _Cost]] = {
    **dict.fromkeys(
        (
            *("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "ip"),
            *("quantity", "isQuantity", "semver", "isSemver", "startsWith", "endsWith"),
        ),
        lambda values, sizes, result: _text(sizes[0]),
    ),
    **dict.fromkeys(
        ("replace", "split", "ip.isCanonical"), lambda values, sizes, result: math.ceil(sizes[0] * 2 * _TEXT)
    ),
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"),
        lambda values, sizes, result: _traversal(values[0]),
    ),
    **dict.fromkeys(
        ("matches", "find", "findAll"),
        lambda values, sizes, result: math.ceil((1.0 + sizes[0]) * _TEXT) * math.ceil(sizes[1] * _REGEX),
    ),
    **dict.fromkeys(
        ("_<_", "_<=_", "_>_", "_>=_"),
        lambda values, sizes, result: _text(min(sizes)) if isinstance(values[0], str | bytes) else 1,
    ),
    "bytes": lambda values, sizes, result: 1 if isinstance(values[0], bytes) else _text(sizes[0]),
    "join": lambda values, sizes, result: math.ceil(_size(result) * 2 * _TEXT),
    "contains": lambda values, sizes, result: _text(sizes[0]) * _text(sizes[1]),
    "@in": lambda values, sizes, result: sizes[1] if isinstance(values[1], list) else 1,
    "_==_": lambda values, sizes, result: 1 if isinstance(values[0], _OF_ONE_UNIT) else _text(min(sizes)),
    "_!=_": lambda values, sizes, result: _text(min(sizes)),
    "_+_": lambda values, sizes, result: _text(sum(sizes)) if isinstance(values[0], str | bytes) else 1,
    "sets.contains": lambda values, sizes, result: 1 + sizes[0] * sizes[1],
    "sets.intersects": lambda values, sizes, result: 1 + sizes[0] * sizes[1],
    "sets.equivalent": lambda values, sizes, result: 1 + 2 * sizes[0] * sizes[1],
    "containsIP": _contained,
    "containsCIDR": lambda values, sizes, result: _contained(values, sizes, result) + _text(sizes[0]) + 1,
}

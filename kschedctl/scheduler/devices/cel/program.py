"""A checked expression as nested Python functions: compiled once, evaluated per device.

Evaluation follows cel-go: ``&&`` and ``||`` ignore an error if the other operand decides; absent keys are errors.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kschedctl.scheduler.devices.cel.addresses import ADDRESSES
from kschedctl.scheduler.devices.cel.extensions import EXTENSIONS, URLS
from kschedctl.scheduler.devices.cel.functions import STANDARD, index
from kschedctl.scheduler.devices.cel.syntax import (
    Call,
    Comprehension,
    Constant,
    Identifier,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
)
from kschedctl.scheduler.devices.cel.times import TIMES, WITH_TIMES
from kschedctl.scheduler.devices.cel.values import (
    CIDR,
    IP,
    URL,
    CelError,
    NoSuchOverloadError,
    Opt,
    Quantity,
    Semver,
    TypeValue,
    type_name,
)

# The cost of an evaluation in cel-go's units (``interpreter/runtimecost.go``, apiserver ``cel/library/cost.go``).

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

        Raises CelError if the cost exceeds the limit.
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
    return 1 if cost is None else cost(arguments, [_cost_size(argument) for argument in arguments[:2]], result)


def _text_cost(size: int) -> int:
    return math.ceil(size * _TEXT)


def _cost_size(value: Any) -> int:
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
    return math.ceil(2 * sizes[0] * _TEXT) + (_text_cost(sizes[1]) if isinstance(values[1], str) else 0)


#: The cost of a call by its arguments, the sizes of the first two, and its result; any other function costs 1.
_COSTS: Final[dict[str, _Cost]] = {
    **dict.fromkeys(
        (
            *("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "ip"),
            *("quantity", "isQuantity", "semver", "isSemver", "startsWith", "endsWith"),
        ),
        lambda values, sizes, result: _text_cost(sizes[0]),
    ),
    **dict.fromkeys(
        ("replace", "split", "ip.isCanonical"), lambda values, sizes, result: math.ceil(sizes[0] * 2 * _TEXT)
    ),
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), lambda values, sizes, result: _traversal(values[0])
    ),
    **dict.fromkeys(
        ("matches", "find", "findAll"),
        lambda values, sizes, result: math.ceil((1.0 + sizes[0]) * _TEXT) * math.ceil(sizes[1] * _REGEX),
    ),
    **dict.fromkeys(
        ("_<_", "_<=_", "_>_", "_>=_"),
        lambda values, sizes, result: _text_cost(min(sizes)) if isinstance(values[0], str | bytes) else 1,
    ),
    "bytes": lambda values, sizes, result: 1 if isinstance(values[0], bytes) else _text_cost(sizes[0]),
    "join": lambda values, sizes, result: math.ceil(_cost_size(result) * 2 * _TEXT),
    "contains": lambda values, sizes, result: _text_cost(sizes[0]) * _text_cost(sizes[1]),
    "@in": lambda values, sizes, result: sizes[1] if isinstance(values[1], list) else 1,
    "_==_": lambda values, sizes, result: 1 if isinstance(values[0], _OF_ONE_UNIT) else _text_cost(min(sizes)),
    "_!=_": lambda values, sizes, result: _text_cost(min(sizes)),
    "_+_": lambda values, sizes, result: _text_cost(sum(sizes)) if isinstance(values[0], str | bytes) else 1,
    "sets.contains": lambda values, sizes, result: 1 + sizes[0] * sizes[1],
    "sets.intersects": lambda values, sizes, result: 1 + sizes[0] * sizes[1],
    "sets.equivalent": lambda values, sizes, result: 1 + 2 * sizes[0] * sizes[1],
    "containsIP": _contained,
    "containsCIDR": lambda values, sizes, result: _contained(values, sizes, result) + _text_cost(sizes[0]) + 1,
}


#: The key of the meter among the variables; no variable has this name.
_METER: Final = "\0meter"
_TYPES: Final = frozenset(
    {
        *("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"),
        *("google.protobuf.Duration", "google.protobuf.Timestamp"),
    }
)
_FUNCTIONS: Final = {**STANDARD, **EXTENSIONS, **ADDRESSES, **URLS, **TIMES, **WITH_TIMES}
#: Functions whose overload errors do not name them.
_UNNAMED: Final = frozenset({"size", "contains", "startsWith", "endsWith", "matches", "find", "findAll"})
_NAMESPACES: Final = frozenset({"optional", "sets", "ip"})


class UnknownFunctionError(Exception):
    """An error for a CEL function that is not modelled because device selectors hardly need it."""


Scope = dict[str, Any]
Evaluation = Callable[[Scope], Any]


def compile_program(node: Node) -> Callable[..., Any]:
    """Compile a checked expression into a function of its variables.

    Returns: A function of the variables by name and, optionally, a meter for the cost. It raises ``CelError`` if
        the evaluation fails.

    Raises UnknownFunctionError for a function that is not modelled.
    """

    def run(variables: Mapping[str, Any], meter: Meter | None = None) -> Any:
        return _compiled(node)({**variables, _METER: meter or Meter()})

    return run


def _compiled(node: Node) -> Evaluation:
    match node:
        case Constant(value):
            return lambda _: value
        case Identifier(name):
            return _identifier(name)
        case Select():
            return _select(node)
        case Call():
            return _call(node)
        case ListLiteral():
            return _list_literal(node)
        case MapLiteral():
            return _map_literal(node)
        case Comprehension():
            return _comprehension(node)


def _identifier(name: str) -> Evaluation:

    def find(scope: Scope) -> Any:
        if name in _TYPES and name not in scope:
            return TypeValue(name)
        scope[_METER].add(1 + name.startswith("device."))
        return scope[name]

    return find


def _select(node: Select) -> Evaluation:
    operand, field, cost = _compiled(node.operand), node.field, step_cost(node.operand)
    if not node.test_only:

        def select(scope: Scope) -> Any:
            value = operand(scope)
            scope[_METER].add(cost)
            return index(value, field)

        return select
    if isinstance(node.operand, Identifier) and node.operand.name == "device":
        return lambda _: True

    def test(scope: Scope) -> bool:
        value = operand(scope)
        if isinstance(value, Opt):
            return value.present and _has_field(value.value, field)
        return _has_field(value, field)

    return test


def _has_field(value: Any, field: str) -> bool:
    """Report whether a map has a key.

    Raises CelError if the value of the key cannot be read.
    """
    if not isinstance(value, dict) or field not in value:
        return False
    value[field]
    return True


def _call(node: Call) -> Evaluation:
    if node.function in ("_&&_", "_||_"):
        return _logical(*map(_compiled, node.arguments), decides=node.function == "_||_")
    if node.function == "_?_:_":
        condition = _compiled(node.arguments[0])
        yes, no = map(_compiled_free, node.arguments[1:])
        return lambda scope: yes(scope) if _boolean(condition(scope)) else no(scope)
    if node.function == "!_":
        (negated,) = map(_compiled, node.arguments)
        return lambda scope: _negated(negated(scope), scope)
    if node.function == "@not_strictly_false":
        (tried,) = map(_compiled, node.arguments)
        return lambda scope: _not_strictly_false(tried, scope)
    if node.function in ("_[_]", "_[?_]", "_?._"):
        return _step(node)
    function, arguments = node.function, node.arguments
    if node.is_method and isinstance(arguments[0], Identifier) and arguments[0].name in _NAMESPACES:
        function, arguments = f"{arguments[0].name}.{function}", arguments[1:]
    if node.is_method and f".{function}" in _FUNCTIONS:
        function = f".{function}"
    return _function(function, tuple(map(_compiled, arguments)), free=is_free(function, arguments))


def _step(node: Call) -> Evaluation:
    """Compile ``container[key]`` or one of its optional forms."""
    container, key = _compiled(node.arguments[0]), _compiled_free(node.arguments[1])
    found, cost = STANDARD[node.function], step_cost(node.arguments[0])

    def step(scope: Scope) -> Any:
        whole, one = container(scope), key(scope)
        # A step into an absent optional value is free.
        if not isinstance(whole, Opt) or whole.present:
            scope[_METER].add(cost)
        return found(whole, one)

    return step


def _negated(value: Any, scope: Scope) -> bool:
    scope[_METER].add(1)
    return not _boolean(value)


def _compiled_free(node: Node) -> Evaluation:
    """Compile a branch or a key; if it is reached by steps from a variable, these steps are free."""
    evaluate = _compiled(node)
    if not is_path(node):
        return evaluate

    def free(scope: Scope) -> Any:
        meter = scope[_METER]
        before = meter.cost
        value = evaluate(scope)
        meter.cost = before
        return value

    return free


def _function(name: str, arguments: tuple[Evaluation, ...], *, free: bool) -> Evaluation:
    found = _FUNCTIONS.get(name)
    if found is None:
        raise UnknownFunctionError(name)

    def call(scope: Scope) -> Any:
        values = [argument(scope) for argument in arguments]
        try:
            result = found(*values)
            if not free:
                scope[_METER].add(call_cost(name, values, result))
            return result
        except (TypeError, AttributeError):
            raise _no_such_overload(name, values) from None
        except NoSuchOverloadError as error:
            raise error if error.function else _no_such_overload(name, values) from None

    return call


def _no_such_overload(name: str, values: Sequence[Any]) -> NoSuchOverloadError:
    """Return the error for arguments that no overload takes; operators and the oldest functions are not named in it."""
    if name.startswith(("_", "@", "-")) or name in _UNNAMED:
        return NoSuchOverloadError()
    return NoSuchOverloadError(f"{name.lstrip('.')}({', '.join(map(type_name, values))})")


def _logical(left: Evaluation, right: Evaluation, *, decides: bool) -> Evaluation:
    def evaluate(scope: Scope) -> bool:
        try:
            if _boolean(left(scope)) is decides:
                return decides
        except CelError as error:
            if str(error) == EXCEEDED:
                raise
            if _boolean(right(scope)) is decides:
                return decides
            raise
        return _boolean(right(scope))

    return evaluate


def _not_strictly_false(tried: Evaluation, scope: Scope) -> bool:
    scope[_METER].add(1)
    try:
        return tried(scope) is not False
    except CelError as error:
        if str(error) == EXCEEDED:
            raise
        return True


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise NoSuchOverloadError


def _list_literal(node: ListLiteral) -> Evaluation:
    elements = tuple((_compiled(element), i in node.optional) for i, element in enumerate(node.elements))

    def make(scope: Scope) -> list[Any]:
        out = []
        scope[_METER].add(0 if all(isinstance(element, Constant) for element in node.elements) else LIST)
        for element, optional in elements:
            value = element(scope)
            if not optional:
                out.append(value)
            elif value.present:
                out.append(value.value)
        return out

    return make


def _map_literal(node: MapLiteral) -> Evaluation:
    entries = tuple((_compiled(key), _compiled(value), optional) for key, value, optional in node.entries)

    constant = all(isinstance(part, Constant) for key, value, _ in node.entries for part in (key, value))
    cost = 0 if constant else MAP

    def make(scope: Scope) -> dict[Any, Any]:
        out = {}
        scope[_METER].add(cost)
        for key, value, optional in entries:
            found = value(scope)
            if not optional:
                out[key(scope)] = found
            elif found.present:
                out[key(scope)] = found.value
        return out

    return make


def _comprehension(node: Comprehension) -> Evaluation:
    iterated, initial = _compiled(node.iterated), _compiled(node.initial)
    condition, step, result = map(_compiled, (node.condition, node.step, node.result))

    def fold(scope: Scope) -> Any:
        values = iterated(scope)
        if not isinstance(values, list | dict):
            raise NoSuchOverloadError
        inner = {**scope, node.accumulator: initial(scope)}
        for value in values:
            inner[node.variable] = value
            if condition(inner) is not True:
                break
            inner[node.accumulator] = step(inner)
        return result(inner)

    return fold

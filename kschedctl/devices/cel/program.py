"""A checked expression as nested Python functions: compiled once, asked per device.

Evaluation is cel-go's: ``&&`` and ``||`` pass over an error where the other side decides, absent keys are errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kschedctl.devices.cel.extensions import EXTENSIONS
from kschedctl.devices.cel.functions import STANDARD, index
from kschedctl.devices.cel.syntax import (
    Call,
    Comprehension,
    Constant,
    ListLiteral,
    MapLiteral,
    Name,
    Node,
    Select,
)
from kschedctl.devices.cel.values import CelError, NoSuchOverloadError, Opt, TypeValue

#: Evaluations of one selector: beyond this the scheduler's limit of its cost is reached as well.
MAX_STEPS: Final = 1_000_000
_TYPES: Final = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"})
_FUNCTIONS: Final = {**STANDARD, **EXTENSIONS}
_NAMESPACES: Final = frozenset({"optional", "sets"})


class UnknownFunctionError(Exception):
    """A function of CEL that selectors of devices hardly need, and that is not modelled."""


Scope = dict[str, Any]
Evaluation = Callable[[Scope], Any]


def compile_program(node: Node) -> Callable[[Mapping[str, Any]], Any]:
    """Turn a checked expression into a function of its variables.

    Parameters
    ----------
    node : Node
        The expression.

    Returns
    -------
    callable
        Takes the variables by name; raises ``CelError`` where the evaluation ends in an error.

    Raises
    ------
    UnknownFunctionError
        For a function that is not modelled.
    """
    evaluate = _compiled(node)
    return lambda variables: evaluate(dict(variables))


def _compiled(node: Node) -> Evaluation:
    match node:
        case Constant(value):
            return lambda _: value
        case Name(name):
            return _name(name)
        case Select():
            return _select(node)
        case Call():
            return _call(node)
        case ListLiteral():
            return _list(node)
        case MapLiteral():
            return _map(node)
        case Comprehension():
            return _comprehension(node)


def _name(name: str) -> Evaluation:
    if name in _TYPES:
        return lambda scope: scope[name] if name in scope else TypeValue(name)
    return lambda scope: scope[name]


def _select(node: Select) -> Evaluation:
    operand, field = _compiled(node.operand), node.field
    if not node.test_only:
        return lambda scope: index(operand(scope), field)
    if isinstance(node.operand, Name) and node.operand.name == "device":
        return lambda _: True

    def test(scope: Scope) -> bool:
        value = operand(scope)
        if isinstance(value, Opt):
            return value.present and isinstance(value.value, dict) and field in value.value
        if not isinstance(value, dict):
            raise NoSuchOverloadError
        return field in value

    return test


def _call(node: Call) -> Evaluation:
    if node.function in ("_&&_", "_||_"):
        return _logical(*map(_compiled, node.arguments), decides=node.function == "_||_")
    if node.function == "_?_:_":
        condition, yes, no = map(_compiled, node.arguments)
        return lambda scope: yes(scope) if _boolean(condition(scope)) else no(scope)
    if node.function == "!_":
        (negated,) = map(_compiled, node.arguments)
        return lambda scope: not _boolean(negated(scope))
    if node.function == "@not_strictly_false":
        (tried,) = map(_compiled, node.arguments)
        return lambda scope: _not_strictly_false(tried, scope)
    function, arguments = node.function, node.arguments
    if node.is_method and isinstance(arguments[0], Name) and arguments[0].name in _NAMESPACES:
        function, arguments = f"{arguments[0].name}.{function}", arguments[1:]
    return _function(function, tuple(map(_compiled, arguments)))


def _function(name: str, arguments: tuple[Evaluation, ...]) -> Evaluation:
    found = _FUNCTIONS.get(name)
    if found is None:
        raise UnknownFunctionError(name)

    def call(scope: Scope) -> Any:
        values = [argument(scope) for argument in arguments]
        try:
            return found(*values)
        except (TypeError, AttributeError):
            raise NoSuchOverloadError(name) from None

    return call


def _logical(left: Evaluation, right: Evaluation, *, decides: bool) -> Evaluation:
    def evaluate(scope: Scope) -> bool:
        try:
            if _boolean(left(scope)) is decides:
                return decides
        except CelError:
            if _boolean(right(scope)) is decides:
                return decides
            raise
        return _boolean(right(scope))

    return evaluate


def _not_strictly_false(tried: Evaluation, scope: Scope) -> bool:
    try:
        return tried(scope) is not False
    except CelError:
        return True


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise NoSuchOverloadError


def _list(node: ListLiteral) -> Evaluation:
    elements = tuple((_compiled(element), i in node.optional) for i, element in enumerate(node.elements))

    def make(scope: Scope) -> list[Any]:
        out = []
        for element, optional in elements:
            value = element(scope)
            if not optional:
                out.append(value)
            elif value.present:
                out.append(value.value)
        return out

    return make


def _map(node: MapLiteral) -> Evaluation:
    entries = tuple((_compiled(key), _compiled(value), optional) for key, value, optional in node.entries)

    def make(scope: Scope) -> dict[Any, Any]:
        out = {}
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
            steps = inner[_STEPS] = inner.get(_STEPS, 0) + 1
            if steps > MAX_STEPS:
                raise CelError("operation cancelled: actual cost limit exceeded")
            inner[node.variable] = value
            if condition(inner) is not True:
                break
            inner[node.accumulator] = step(inner)
        return result(inner)

    return fold


_STEPS: Final = "\0steps"

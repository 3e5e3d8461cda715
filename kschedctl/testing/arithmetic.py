"""Evaluation of the arithmetic that a plugin reports for its score, from the expressions of the steps alone."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from kschedctl.scheduler.framework.arithmetic import Arithmetic

Number = int | float


def work_out(expression: str, names: Mapping[str, Number]) -> Number:
    """Evaluate the expression of a step.

    Parameters
    ----------
    expression : str
        The expression, in the syntax that ``kschedctl.scheduler.framework.arithmetic`` describes.
    names : mapping of str to number
        The values of the previous steps, by name.

    Raises
    ------
    AssertionError
        If the expression is not valid, or contains a name that no previous step has.

    Examples
    --------
    >>> work_out("100 - 100 * 1 // 3", {}), work_out("round(2 * half)", {"half": 1.25})
    (67, 3)
    """
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise AssertionError(f"{expression} is not an expression: {error}") from None
    return _value(tree.body, names)


def check_arithmetic(arithmetic: Arithmetic, result: int) -> None:
    """Check that the steps of a plugin's arithmetic lead to the score that the plugin returned.

    Parameters
    ----------
    arithmetic : Arithmetic
        The arithmetic that the plugin reports.
    result : int
        The score that the plugin returned.

    Raises
    ------
    AssertionError
        If a step has another value than its expression, the last step is not the score, there is no formula or no step,
        or the arithmetic does not survive a round trip through JSON.
    """
    kind = type(arithmetic).__name__
    assert arithmetic.formula(), f"{kind} has no formula"
    steps = tuple(arithmetic.steps())
    assert steps, f"{kind} has no steps"
    names: dict[str, Number] = {}
    for step in steps:
        found = work_out(step.expression, names)
        said = f"{kind}: {step.name} = {step.expression}"
        assert isinstance(found, float) == isinstance(step.value, float), f"{said} is {found!r}, not {step.value!r}"
        assert math.isclose(found, step.value, rel_tol=1e-12), f"{said} is {found}, not {step.value}"
        names[step.name] = found
    assert steps[-1].value == result, f"{kind}: the last step is {steps[-1].value}, but the plugin returned {result}"
    try:
        again = msgspec.json.decode(msgspec.json.encode(arithmetic), type=type(arithmetic))
    except (TypeError, msgspec.MsgspecError) as error:
        raise AssertionError(f"{kind} cannot be encoded as JSON: {error}") from None
    assert again == arithmetic, f"{kind} is decoded from JSON as {again!r}"


def _value(node: ast.expr, names: Mapping[str, Number]) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            assert name in names, f"no earlier step is named {name}"
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return _OPERATORS[type(operator)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(arg, names) for arg in args))
    raise AssertionError(f"{ast.unparse(node)} is not allowed in an expression")


def _divide(dividend: Number, divisor: Number) -> int:
    assert isinstance(dividend, int), f"// divides whole numbers, not {dividend}"
    assert isinstance(divisor, int), f"// divides whole numbers, not by {divisor}"
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _round(number: Number) -> int:
    whole = math.trunc(number)
    return whole + int(math.copysign(abs(number - whole) >= 0.5, number))


_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Number, Number], Number]]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: _divide,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Number]]] = {
    "abs": abs,
    "log": math.log,
    "max": max,
    "min": min,
    "round": _round,
    "sqrt": math.sqrt,
    "trunc": math.trunc,
}

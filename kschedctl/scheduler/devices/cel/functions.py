"""The standard functions and operators of CEL, on evaluated values."""

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from kschedctl.scheduler.devices.cel.values import (
    CelError,
    LazyMap,
    NoSuchOverloadError,
    Opt,
    TypeValue,
    Uint,
    compare,
    equal,
    is_number,
    type_name,
)

_MIN_INT: Final = -(2**63)
_MAX_INT: Final = 2**63 - 1
_MAX_UINT: Final = 2**64 - 1

Function = Callable[..., Any]


def checked(value: int) -> int:
    """Return an int64 unchanged; raise ``CelError`` for a number outside its range."""
    if not _MIN_INT <= value <= _MAX_INT:
        raise CelError("integer overflow")
    return value


def _arithmetic(left: Any, right: Any, of: Callable[[Any, Any], Any]) -> Any:
    """Apply an arithmetic operation to two numbers of the same type."""
    if type(left) is float and type(right) is float:
        return of(left, right)
    if type(left) is Uint and type(right) is Uint:
        value = of(int(left), int(right))
        if not 0 <= value <= _MAX_UINT:
            raise CelError("unsigned integer overflow")
        return Uint(value)
    if type(left) is int and type(right) is int:
        return checked(of(left, right))
    raise NoSuchOverloadError


def _concatenate_or_add(left: Any, right: Any) -> Any:
    if type(left) is type(right) and isinstance(left, str | bytes | list):
        return left + right
    return _arithmetic(left, right, lambda a, b: a + b)


def _divide(left: Any, right: Any) -> Any:
    if type(left) is float and type(right) is float:
        if right == 0:
            return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
        return left / right
    if right == 0 and is_number(right):
        raise CelError("division by zero")
    return _arithmetic(left, right, _truncated)


def _truncated(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        raise NoSuchOverloadError
    if right == 0 and is_number(right):
        raise CelError("modulus by zero")
    return _arithmetic(left, right, lambda a, b: a - b * _truncated(a, b))


def _negate(value: Any) -> Any:
    if type(value) is float:
        return -value
    if type(value) is int:
        return checked(-value)
    raise NoSuchOverloadError


def index(container: Any, key: Any) -> Any:
    """Return ``container[key]``."""
    if isinstance(container, Opt):
        return optional_index(container, key)
    if isinstance(container, dict):
        if key in container:
            return container[key]
        raise CelError(f"no such key: {shown(key)}")
    if isinstance(container, list):
        if not is_number(key) or key != int(key):
            raise CelError(f"unsupported index type '{type_name(key)}' in list")
        if 0 <= key < len(container):
            return container[int(key)]
        raise CelError(f"index out of bounds: {int(key)}")
    raise CelError(f"no such key: {shown(key)}")


def optional_index(container: Any, key: Any) -> Opt:
    """Return ``container[?key]``."""
    if isinstance(container, Opt):
        if not container.present:
            return container
        container = container.value
    if isinstance(container, dict):
        return Opt(container[key], True) if key in container else Opt()
    if isinstance(container, list) and is_number(key):
        return Opt(container[int(key)], True) if 0 <= key < len(container) else Opt()
    raise NoSuchOverloadError


def shown(value: Any) -> str:
    """Return the text of a value for error messages."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _contained(value: Any, container: Any) -> bool:
    if isinstance(container, list):
        return any(equal(value, element) for element in container)
    if isinstance(container, dict):
        keys = container.readable_keys() if isinstance(container, LazyMap) else container
        return any(equal(value, key) for key in keys)
    raise NoSuchOverloadError


def _length(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise NoSuchOverloadError("size")


def _to_int(value: Any) -> int:
    if type(value) is float:
        if not -(2.0**63) < value < 2.0**63:
            raise CelError("integer overflow")
        return int(value)
    if isinstance(value, str):
        try:
            return checked(int(value))
        except ValueError:
            raise CelError(f'strconv.ParseInt: parsing "{value}": invalid syntax') from None
    if isinstance(value, int) and not isinstance(value, bool):
        return checked(int(value))
    raise NoSuchOverloadError


def _to_uint(value: Any) -> Uint:
    number = _to_int(value) if not isinstance(value, Uint) else int(value)
    if number < 0:
        raise CelError("unsigned integer overflow")
    return Uint(number)


def _to_double(value: Any) -> float:
    if is_number(value) or isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise CelError(f'strconv.ParseFloat: parsing "{value}": invalid syntax') from None
    raise NoSuchOverloadError


def _to_string(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, bool | int | str):
        return shown(value)
    raise NoSuchOverloadError


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise NoSuchOverloadError


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise NoSuchOverloadError
    if value in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if value in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise CelError(f"type conversion error from '{type_name(value)}' to 'bool'")


@lru_cache(maxsize=256)
def pattern(text: str) -> re.Pattern[str]:
    """Return a compiled regular expression.

    Raises CelError if the text is not a regular expression.
    """
    try:
        return re.compile(text)
    except re.error:
        raise CelError(f"error parsing regexp: `{text}`") from None


def matching(*kinds: type) -> Callable[[Function], Function]:
    """Return a decorator that rejects other argument types, like a function without an overload for them."""

    def wrap(function: Function) -> Function:
        def call(*arguments: Any) -> Any:
            if len(arguments) != len(kinds):
                raise NoSuchOverloadError
            for argument, kind in zip(arguments, kinds, strict=True):
                if not isinstance(argument, kind) or (kind is int and isinstance(argument, bool)):
                    raise NoSuchOverloadError
            return function(*arguments)

        return call

    return wrap


def accepts(function: Function) -> Function:
    """Return a function that reports whether another one accepts its arguments; wrong types are errors of both."""

    def test(*arguments: Any) -> bool:
        try:
            function(*arguments)
        except NoSuchOverloadError:
            raise
        except CelError:
            return False
        return True

    return test


def _opt_value(optional: Any) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _of_non_zero(value: Any) -> Opt:
    zero = value is None or (isinstance(value, bool | int | float | str | bytes | list | dict) and not value)
    return Opt() if zero else Opt(value, True)


STANDARD: Final[dict[str, Function]] = {
    "_==_": equal,
    "_!=_": lambda left, right: not equal(left, right),
    "_<_": lambda left, right: compare(left, right) < 0,
    "_<=_": lambda left, right: compare(left, right) <= 0,
    "_>_": lambda left, right: compare(left, right) > 0,
    "_>=_": lambda left, right: compare(left, right) >= 0,
    "_+_": _concatenate_or_add,
    "_-_": lambda left, right: _arithmetic(left, right, lambda a, b: a - b),
    "_*_": lambda left, right: _arithmetic(left, right, lambda a, b: a * b),
    "_/_": _divide,
    "_%_": _modulo,
    "-_": _negate,
    "_[_]": index,
    "_[?_]": optional_index,
    "_?._": optional_index,
    "@in": _contained,
    "size": _length,
    "int": _to_int,
    "uint": _to_uint,
    "double": _to_double,
    "string": _to_string,
    "bool": _to_bool,
    "bytes": _to_bytes,
    "dyn": lambda value: value,
    "type": lambda value: TypeValue(type_name(value)),
    "contains": matching(str, str)(lambda text, part: part in text),
    "startsWith": matching(str, str)(lambda text, part: text.startswith(part)),
    "endsWith": matching(str, str)(lambda text, part: text.endswith(part)),
    "matches": matching(str, str)(lambda text, regex: pattern(regex).search(text) is not None),
    "optional.of": lambda value: Opt(value, True),
    "optional.none": Opt,
    "optional.ofNonZeroValue": _of_non_zero,
    "hasValue": matching(Opt)(lambda optional: optional.present),
    "value": matching(Opt)(_opt_value),
    "or": matching(Opt, Opt)(lambda optional, other: optional if optional.present else other),
    "orValue": matching(Opt, object)(lambda optional, value: optional.value if optional.present else value),
}

"""The values of options that need no pydantic, whose import takes longer than that of typer.

Typer makes a validator of pydantic for each option of a command, also for those that are not given.
"""

from enum import Enum
from typing import Any, Final

#: Longer numbers are left to typer: Python refuses to read very long ones.
_MOST_DIGITS: Final = 15
_NOT_PLAIN: Final = object()


class _PlainValues:
    """The reading of the values of a parameter, with the results of typer.

    Values that are not plain are left to typer, among them all wrong ones, so that errors are its own. So are all
    values, if another version of typer describes its parameters in another way.
    """

    def __init__(self, parameter: Any) -> None:
        self._of_typer = parameter.get_runtime_param

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        read = _plain(value, param)
        return self._of_typer().coerce(value, param=param, ctx=ctx) if read is _NOT_PLAIN else read


def read_plainly(parameter: Any) -> Any:
    """Let a parameter of typer's read plain values without pydantic, and return it."""
    if hasattr(parameter, "get_runtime_param") and "get_runtime_param" not in vars(parameter):
        values = _PlainValues(parameter)
        parameter.get_runtime_param = lambda: values
    return parameter


def _plain(value: Any, parameter: Any) -> Any:
    """Return a value in the type of its parameter; ``_NOT_PLAIN`` if that takes more than a look at it."""
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if kind is None:
        return _NOT_PLAIN
    if value is None:
        return () if parameter.nargs == -1 or parameter.multiple else None
    if kind is str and isinstance(value, str):
        return value
    if kind == list[str] and isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return list(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((each for each in kind if value in (each, each.value)), _NOT_PLAIN)
    if kind is int or kind is float:
        is_text = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS
        if (is_text or type(value) is kind) and hasattr(parameter, "min") and hasattr(parameter, "max"):
            number = kind(value)
            least, most = parameter.min, parameter.max
            if (least is None or number >= least) and (most is None or number <= most):
                return number
    return _NOT_PLAIN

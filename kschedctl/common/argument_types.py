"""Checks of the types of arguments: a wrong type is an error with a sentence, not a traceback from inside."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, update_wrapper
from inspect import Parameter, Signature, signature
from types import FunctionType, NoneType, UnionType
from typing import Any, ForwardRef, Literal, TypeVar, Union, cast, get_args, get_origin

from kschedctl.common.errors import InputError
from kschedctl.common.wording import listed

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])


def with_checked_arguments(cls: C) -> C:
    """Decorate a class: its public methods raise `InputError` for an argument of a wrong type."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, FunctionType) and not name.startswith("_"):
            setattr(cls, name, checked_arguments(member))
    return cls


def checked_arguments(function: F) -> F:
    """Decorate a function: it raises `InputError` for an argument of a wrong type.

    >>> @checked_arguments
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> double("2")
    Traceback (most recent call last):
        ...
    kschedctl.common.errors.InputError: number has the type str: int is expected
    """
    check = _check_arguments

    def call(*args: Any, **kwargs: Any) -> Any:
        check(function, args, kwargs)
        return function(*args, **kwargs)

    # With the globals of the function, doctest finds the examples of the function in its module.
    within: Any = function
    checked: Any = FunctionType(call.__code__, within.__globals__, within.__name__, None, call.__closure__)
    update_wrapper(checked, function)
    return cast("F", checked)


def _check_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    declared = _signature(function)
    for name, value in declared.bind(*args, **kwargs).arguments.items():
        parameter = declared.parameters[name]
        if parameter.annotation is Parameter.empty:
            continue
        hint = _resolved_hint(function, parameter.annotation)
        for own, one in _named_arguments(parameter, value):
            if not _is_of_type(one, hint, function):
                expected = listed(list(dict.fromkeys(_type_names(hint, function))), "or", most=10)
                raise InputError(f"{own} has the type {type(one).__name__}: {expected} is expected")


def require_type(name: str, value: Any, hint: Any) -> None:
    """Raise `InputError` unless the value of an argument is of a type."""
    if not _is_of_type(value, hint, require_type):
        expected = listed(list(dict.fromkeys(_type_names(hint, require_type))), "or", most=10)
        raise InputError(f"{name} has the type {type(value).__name__}: {expected} is expected")


def _named_arguments(parameter: Parameter, value: Any) -> Iterable[tuple[str, Any]]:
    """Return the arguments of a parameter, with their names."""
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return [(parameter.name, one) for one in value]
    if parameter.kind is Parameter.VAR_KEYWORD:
        return list(value.items())
    return [(parameter.name, value)]


@cache
def _signature(function: Callable[..., Any]) -> Signature:
    return signature(function)


@cache
def _resolved_hint(function: Callable[..., Any], annotation: Any) -> Any:
    """Return an annotation that is written as text as a type; public names need no import at runtime."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    package = sys.modules[__name__.partition(".")[0]]
    known: dict[str, Any] = getattr(function, "__globals__", {})
    unknown = [name for name in _words(annotation) if name not in known]
    public = {name: getattr(package, name) for name in unknown if hasattr(package, name)}
    return eval(annotation, known, public)


def _words(annotation: str) -> set[str]:
    return set("".join(c if c.isidentifier() or c.isdigit() else " " for c in annotation).split())


def _is_of_type(value: Any, hint: Any, function: Callable[..., Any]) -> bool:
    """Report whether a value is of a type; types that have no check at runtime accept every value."""
    hint = _resolved_hint(function, hint)
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_is_of_type(value, each, function) for each in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    if isinstance(origin, type):
        return isinstance(value, origin) and _items_are_of(value, origin, get_args(hint), function)
    if hint is None:
        return value is None
    if not isinstance(hint, type) or hint.__module__ == "typing":
        return True
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return isinstance(value, hint)


def _items_are_of(value: Any, origin: type, items: tuple[Any, ...], function: Callable[..., Any]) -> bool:
    """Report whether the items are of a type, if reading them does not use them up."""
    if not items or isinstance(value, str) or not isinstance(value, Collection) or not issubclass(origin, Iterable):
        return True
    if isinstance(value, Mapping):
        return all(_is_of_type(key, items[0], function) for key in value)
    return all(_is_of_type(one, items[0], function) for one in value)


def _type_names(hint: Any, function: Callable[..., Any]) -> Iterator[str]:
    hint = _resolved_hint(function, hint)
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        for each in get_args(hint):
            yield from _type_names(each, function)
    elif origin is Literal:
        yield from map(repr, get_args(hint))
    elif isinstance(origin, type) and issubclass(origin, Iterable) and not issubclass(origin, Mapping):
        items = listed(list(_type_names(get_args(hint)[0], function)), "or", most=10)
        yield f"{origin.__name__.lower()} of {items}"
    elif hint is not NoneType and hint is not None:
        name = getattr(origin or hint, "__name__", str(hint))
        yield name.lower() if isinstance(origin, type) else name

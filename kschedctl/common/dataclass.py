"""The ``dataclass`` of this package: that of the standard library, but its classes take a fifth of the time to define.

The standard library compiles up to eight methods per class, which takes longer than everything else in the modules that
a short command imports. Here ``__init__`` is compiled with the class, the methods that compare and hash when they are
first used, and the others are not compiled. The result is a dataclass of the standard library, to which ``fields``,
``replace`` and ``asdict`` apply.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **settings):
        """Define a dataclass; ``order`` and rarer settings are those of the standard library, at its speed."""
        if not settings.keys() <= {"frozen", "slots", "kw_only", "eq", "repr"}:
            return dataclasses.dataclass(cls, **settings)
        return _defined(cls, **settings) if cls is not None else lambda cls: _defined(cls, **settings)


def _defined(
    cls: type[Any],
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002
) -> type[Any]:
    own = frozenset(vars(cls))
    # Python itself sets it to None in a class with __eq__.
    hashes_itself = "__hash__" in own and not ("__eq__" in own and cls.__hash__ is None)
    # With slots, the result is another class.
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    methods: dict[str, Any] = {"__init__": _init(cls, frozen=frozen)}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods["__eq__"], methods["__hash__"] = _comparison(cls)
        if not frozen:
            methods["__hash__"] = None
        if hashes_itself:
            del methods["__hash__"]
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        if slots:
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in own or name == "__hash__":
            setattr(cls, name, method)
    return cls


class _MadeByFactory:
    def __repr__(self) -> str:
        return "<factory>"


_MADE: Final = _MadeByFactory()
_DEFAULT: Final = "_default_"


def _init(cls: type[Any], *, frozen: bool) -> Callable[..., None]:
    scope: dict[str, Any] = {"_set": object.__setattr__, "_made": _MADE}
    parameters: dict[bool, list[str]] = {False: ["self"], True: ["*"]}
    lines = []
    for field in dataclasses.fields(cls):
        name, value, default = field.name, field.name, f"{_DEFAULT}{field.name}"
        parameter = name
        if field.default is not dataclasses.MISSING:
            scope[default] = field.default
            parameter = f"{name}={default}"
            value = name if field.init else default
        elif field.default_factory is not dataclasses.MISSING:
            scope[default] = field.default_factory
            parameter = f"{name}=_made"
            value = f"{default}() if {name} is _made else {name}" if field.init else f"{default}()"
        elif not field.init:
            continue
        if field.init:
            parameters[bool(field.kw_only)].append(parameter)
        lines.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    keywords = parameters[True] if len(parameters[True]) > 1 else []
    init = _compiled(cls, "__init__", ", ".join(parameters[False] + keywords), "\n".join([*lines, " pass"]), scope)
    init.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls) if field.init}
    init.__annotations__["return"] = None
    return init


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _comparison(cls: type[Any]) -> tuple[Callable[..., Any], Callable[..., int]]:
    """Return the methods ``__eq__`` and ``__hash__`` of a class, which compile their text when they are first used."""

    def equal(self: Any, other: object) -> Any:
        own, others = (f"({''.join(f'{of}.{name}, ' for name in _compared(cls))})" for of in ("self", "other"))
        text = f" return {own} == {others} if other.__class__ is self.__class__ else NotImplemented"
        cls.__eq__ = _compiled(cls, "__eq__", "self, other", text)
        return cls.__eq__(self, other)

    def hashed(self: Any) -> int:
        values = "".join(f"self.{name}, " for name in _compared(cls))
        cls.__hash__ = _compiled(cls, "__hash__", "self", f" return hash(({values}))")
        return hash(self)

    return equal, hashed


def _compared(cls: type[Any]) -> Iterator[str]:
    return (field.name for field in dataclasses.fields(cls) if field.compare)


def _compiled(
    cls: type[Any], name: str, parameters: str, body: str, scope: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    own = dict(scope or ())
    exec(f"def {name}({parameters}):\n{body}", own)
    method: Callable[..., Any] = own[name]
    method.__qualname__, method.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
    return method


def _refuse_to_set(_self: object, name: str, _value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


# Copies and pickles of objects that are frozen and have slots.


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)

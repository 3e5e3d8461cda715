"""The method of a cluster that asks a question, made from the request that declares it."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar

from kschedctl.common.argument_types import require_type
from kschedctl.common.errors import InputError
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest, declared, renamed

if TYPE_CHECKING:
    from kschedctl.trials.loaded_cluster import LoadedCluster

A = TypeVar("A")
P = ParamSpec("P")


class HasEngine(Protocol):
    """An object with a cluster behind it."""

    engine: "LoadedCluster"


class Method(Generic[P, A]):
    """A method of a cluster whose parameters are the options of a request.

    Args:
        request: The request; static types of the parameters are those of its fields.
    """

    def __init__(self, request: Callable[P, AnalysisRequest[A]]) -> None:
        self.request: Any = request

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, cluster: "HasEngine | None", owner: type) -> Callable[P, A]:
        kind: type[AnalysisRequest[A]] = self.request

        def ask(*values: P.args, **named: P.kwargs) -> A:
            assert cluster is not None
            request: AnalysisRequest[A] = self.request(*values, **named)
            check_values(request)
            try:
                return request.answer(cluster.engine, request.handle or AnalysisHandle())
            except InputError as error:
                names = {option.flag: name for name, option in kind.options().items()}
                raise renamed(error, names) from None

        ask.__name__, ask.__qualname__ = self._name, f"{owner.__name__}.{self._name}"
        ask.__module__, ask.__doc__ = kind.__module__, method_text(kind)
        ask.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
        return ask


def check_values(request: AnalysisRequest[Any]) -> None:
    """Check types and bounds of the values that a program gives.

    Raises InputError if a value is wrong, or options contradict one another.
    """
    options = declared(type(request))
    types: dict[str, Any] = {field.name: field.type for field in fields(request)}
    types |= {option.name: option.type for option in options}
    for name, kind in types.items():
        require_type(name, getattr(request, name), kind)
    for field in options:
        value = getattr(request, field.name)
        option = field.option
        if value is None:
            continue
        if option.least is not None and value < option.least:
            raise InputError(f"{value} is less than {option.least:g}", path=field.name)
        if option.most is not None and value > option.most:
            raise InputError(f"{value} is more than {option.most:g}", path=field.name)
    request.check()


def method_text(kind: type[AnalysisRequest[Any]]) -> str:
    """Return the documentation of the method in numpydoc: the request's, with its options as parameters."""

    def parameters() -> Iterator[str]:
        for field in declared(kind):
            yield f"{field.name} : {getattr(field.type, '__name__', field.type)}\n    {field.option.help}"

    text, sections = kind.text(), (inspect.getdoc(kind) or "")
    return f"{text}\n\nParameters\n----------\n" + "\n".join(parameters()) + sections.removeprefix(text)

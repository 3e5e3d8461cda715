"""The method of a cluster that asks a question, made from the request that declares it."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar

from kschedctl.common.argument_types import require_type
from kschedctl.common.errors import InputError
from kschedctl.common.options import Option
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest, declared, renamed, request_of

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
        request: Returns the request, for static types only: the method has those of its fields. It is imported when the
            method is first used, as most programs use few.
        name: The name of the question; by default that of the method.
    """

    def __init__(self, request: Callable[[], Callable[P, AnalysisRequest[A]]], name: str = "") -> None:
        self._name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    @property
    def request(self) -> Any:
        """The request."""
        return request_of(self._name)

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
        known = inspect.signature(kind)
        ask.__signature__ = known.replace(  # type: ignore[attr-defined]
            parameters=[
                each.replace(annotation=each.annotation.__origin__)
                for each in known.parameters.values()
                if each.name in documented(kind)
            ],
            return_annotation=inspect.Signature.empty,
        )
        return ask


def check_values(request: AnalysisRequest[Any]) -> None:
    """Check types and bounds of the values that a program gives.

    Raises InputError if a value is wrong, or options contradict one another.
    """
    options = declared(type(request))
    for each in fields(request):
        # Annotated[int, ...] has its type inside.
        kind = each.type.__origin__ if hasattr(each.type, "__metadata__") else each.type  # type: ignore[union-attr]
        require_type(each.name, getattr(request, each.name), kind)
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


def documented(kind: type[AnalysisRequest[Any]]) -> dict[str, str]:
    """Return the texts of the parameters by their name; other fields are for those who find the objects themselves."""
    texts: dict[str, Any] = {field.name: getattr(field.type, "__metadata__", ("",))[0] for field in fields(kind)}
    every = {name: text.help if isinstance(text, Option) else text for name, text in texts.items()}
    return {name: text for name, text in every.items() if text}


def method_text(kind: type[AnalysisRequest[Any]]) -> str:
    """Return the documentation of the method in numpydoc: the request's, with its options as parameters."""
    texts = kind.texts()
    texts["Parameters"] = "\n".join(f"{name}\n    {text}" for name, text in documented(kind).items())
    shown = (name for name in ("Parameters", "Raises", "Examples") if texts.get(name))
    return "\n\n".join((texts[""], *(f"{name}\n{'-' * len(name)}\n{texts[name]}" for name in shown)))

"""The method of a cluster that asks a question, made from the request that declares it."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast

from kschedctl.common.argument_types import require_type
from kschedctl.common.errors import InputError
from kschedctl.common.options import Option
from kschedctl.common.wording import listed, similar
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest, renamed, request_of

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
        known = inspect.signature(kind).parameters
        every = (known[name].replace(annotation=known[name].annotation.__origin__) for name in documented(kind))
        parameters = sorted(every, key=lambda each: each.kind)
        signature = inspect.Signature(parameters)

        def ask(*values: Any, **named: Any) -> A:
            # Of the class itself, the cluster is the first argument.
            of, *others = (cluster, *values) if cluster is not None else values
            try:
                given = signature.bind(*others, **named).arguments
            except TypeError as error:
                close = [name for each in named if each not in known for name in similar(each, known)]
                hint = f"; did you mean {listed(close, 'or')}?" if close else ""
                raise TypeError(f"{self._name}() {error}{hint}") from None
            request = kind(**given)
            check_values(request)
            try:
                return request.answer(of.engine, request.handle or AnalysisHandle())
            except InputError as error:
                names = {option.flag: name for name, option in kind.options().items()}
                raise renamed(error, names) from None

        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        ask.__name__, ask.__qualname__ = self._name, f"{owner.__name__}.{self._name}"
        ask.__module__, ask.__doc__ = kind.__module__, method_text(kind)
        shown = signature if cluster is not None else signature.replace(parameters=[own, *parameters])
        ask.__signature__ = shown  # type: ignore[attr-defined]
        return cast("Callable[P, A]", ask)


def check_values(request: AnalysisRequest[Any]) -> None:
    """Check types and bounds of the values that a program gives.

    Raises InputError if a value is wrong, or options contradict one another.
    """
    for each in fields(request):
        # Annotated[int, ...] has its type inside.
        kind = each.type.__origin__ if hasattr(each.type, "__metadata__") else each.type  # type: ignore[union-attr]
        value = getattr(request, each.name)
        if kind == Sequence[str] and isinstance(value, tuple):
            for item in value:
                require_type(f"an item of {each.name}", item, str)
        require_type(each.name, value, kind)
    for name, option in request.options().items():
        value = getattr(request, name)
        if value is not None:
            option.check(value, name)
    request.check()


def documented(kind: type[AnalysisRequest[Any]]) -> dict[str, str]:
    """Return the texts of the parameters by their name; other fields are for those who find the objects themselves."""
    texts: dict[str, Any] = {field.name: getattr(field.type, "__metadata__", ("",))[0] for field in fields(kind)}
    every = {name: text.help if isinstance(text, Option) else text for name, text in texts.items()}
    # What every request has comes last.
    return {name: text for name, text in sorted(every.items(), key=lambda item: item[0] == "handle") if text}


def method_text(kind: type[AnalysisRequest[Any]]) -> str:
    """Return the documentation of the method in numpydoc: the request's, with its options as parameters."""
    texts = kind.texts()
    texts["Parameters"] = "\n".join(f"{name}\n    {text}" for name, text in documented(kind).items())
    shown = (name for name in ("Parameters", "Raises", "Examples") if texts.get(name))
    return "\n\n".join((texts[""], *(f"{name}\n{'-' * len(name)}\n{texts[name]}" for name in shown)))

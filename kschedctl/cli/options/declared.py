"""The reading of declared options: groups of options and requests become the parameters that typer reads.

A group is declared once as a class of fields, a request as the type of its question.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Annotated, Any, ClassVar, Self, TypeVar, dataclass_transform, get_origin, get_type_hints

import typer

from kschedctl.cli import completion
from kschedctl.common.options import Option
from kschedctl.questions.request import AnalysisRequest, RequestError, declared

R = TypeVar("R", bound=AnalysisRequest[Any])


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
@dataclass(kw_only=True, eq=False, repr=False)
class OptionGroup:
    """Base of all option groups, which are dataclasses: each field with an annotation of typer's is an option.

    A field without such an annotation has the value of an option of another group, or its default.
    """

    #: The heading of the group in the help.
    title: ClassVar[str]

    def __init_subclass__(cls) -> None:
        # Every command makes its groups anew when it starts. They are neither compared nor printed.
        dataclass(kw_only=True, eq=False, repr=False)(cls)

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        """Return the options as function parameters, as typer reads them."""
        hints = get_type_hints(cls, include_extras=True)
        return [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default_factory() if field.default_factory is not MISSING else field.default,
                annotation=cls._titled(hints[field.name]),
            )
            for field in fields(cls)
            if get_origin(hints[field.name]) is Annotated
        ]

    @classmethod
    def _titled(cls, annotation: Any) -> Any:
        """Return a copy of an option with the title of the group; an option can be declared in several groups."""
        declared = copy(annotation.__metadata__[0])
        declared.rich_help_panel = cls.title
        return Annotated[annotation.__origin__, declared]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Create the group from all values that typer passes; values of other groups are ignored."""
        return cls(**{field.name: values[field.name] for field in fields(cls) if field.name in values})


def typer_annotation(kind: Any, option: Option, default: object = None) -> Any:
    """Return the annotation of a parameter as typer reads it; several values are a list.

    Args:
        kind: The type of the field.
        default: The default, which the help shows unless it is empty.
    """
    settings: dict[str, Any] = {
        "metavar": option.metavar or None,
        "help": option.help,
        "rich_help_panel": option.heading or None,
        "min": option.least,
        "max": option.most,
        "autocompletion": getattr(completion, option.completion) if option.completion else None,
        "show_default": default is not None and default != "",
    }
    origin = get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        kind = list[str] | None
    if not option.flag:
        return Annotated[kind, typer.Argument(**settings)]
    return Annotated[kind, typer.Option(option.flag, *filter(None, (option.short,)), **settings)]


def request_parameters(kind: type[AnalysisRequest[Any]]) -> Iterator[inspect.Parameter]:
    """Yield the options of a request as function parameters."""
    for each in declared(kind):
        default = None if each.default == () else each.default
        annotation = typer_annotation(each.type, each.option, default)
        yield inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def read_request(kind: type[R], values: Mapping[str, Any]) -> R:
    """Create a request from all values that typer passes.

    Raises typer.BadParameter if options contradict one another.
    """
    options = kind.options()
    given: dict[str, Any] = {name: values[name] for name in options if values[name] is not None}
    request = kind(**given)
    try:
        request.check()
    except RequestError as error:
        names = {name: option.flag or option.metavar for name, option in options.items()}
        raise typer.BadParameter(error.named(names), param_hint=names[error.field]) from None
    return request


def declared_parameters(command: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function with evaluated annotations.

    The annotation of the return value is not evaluated: its type need not be imported for the help.
    """
    scope: dict[str, Any] = getattr(command, "__globals__", {})
    return {
        name: parameter.replace(annotation=eval(parameter.annotation, scope))
        if isinstance(parameter.annotation, str)
        else parameter
        for name, parameter in inspect.signature(command).parameters.items()
    }


def unfolded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with its option groups expanded into single options, as typer reads it.

    Args:
        command: A function with keyword parameters, some of them of a type derived from OptionGroup or AnalysisRequest.
    """
    signature = inspect.signature(command)
    declared = declared_parameters(command)
    groups: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in declared.items():
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, OptionGroup):
            groups[name] = kind.read
            parameters += kind.parameters()
        elif isinstance(kind, type) and issubclass(kind, AnalysisRequest):
            groups[name] = partial(read_request, kind)
            parameters += request_parameters(kind)
        else:
            parameters.append(parameter)

    def run(**values: Any) -> Any:
        read = {name: read(values) for name, read in groups.items()}
        own = {name: values[name] for name in declared if name not in groups}
        return command(**own, **read)

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    # Typer reads the options from the signature and the annotations.
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run

"""Option groups: declared once as a dataclass, used by every command that has a parameter of that type."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, ClassVar, Self, get_origin, get_type_hints


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionGroup:
    """Base of all option groups: each field with an annotation of typer's is an option.

    A field without such an annotation has the value of an option of another group, or its default.

    Attributes
    ----------
    title : str
        The heading of the group in the help.
    """

    title: ClassVar[str]

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

    Parameters
    ----------
    command : callable
        A function with keyword parameters, some of them of a type derived from OptionGroup.
    """
    signature = inspect.signature(command)
    declared = declared_parameters(command)
    groups: dict[str, type[OptionGroup]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in declared.items():
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, OptionGroup):
            groups[name] = kind
            parameters += kind.parameters()
        else:
            parameters.append(parameter)

    def run(**values: Any) -> Any:
        read = {name: group.read(values) for name, group in groups.items()}
        own = {name: values[name] for name in declared if name not in groups}
        return command(**own, **read)

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    # Typer reads the options from the signature and the annotations.
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run

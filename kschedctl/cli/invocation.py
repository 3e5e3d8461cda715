"""The invocation of a command with its option values, from which suggested next commands are written."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any, Final

import msgspec
import typer

from kschedctl.cli.commands import declared_command
from kschedctl.cli.help import command_line
from kschedctl.cli.options.cluster import SourceOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.questions.document import Question

# The declared options of a command, from which suggested next commands are written.


@cache
def parameters_of(command: str) -> Mapping[str, inspect.Parameter]:
    """Return the declared options of a command, such as ``explain`` or ``leader simulate``; only it is imported."""
    name, _, below = command.partition(" ")
    found = declared_command(name)
    callback: Callable[..., None] | None = None
    if not isinstance(found, typer.Typer):
        callback = found
    elif below:
        every = found.registered_commands
        callback = next(each.callback for each in every if each.callback and each.callback.__name__ == below)
    elif found.registered_callback is not None:
        callback = found.registered_callback.callback
    assert callback is not None
    # Parameters that typer itself passes, such as the context, are no options.
    return {
        name: parameter
        for name, parameter in inspect.signature(callback).parameters.items()
        if hasattr(parameter.annotation, "__metadata__")
    }


#: The parameters that name the subject of a command.
_ARGUMENTS: Final = ("pods", "names", "manifests", "workload")
_SUBJECTS: Final = (*_ARGUMENTS, "filename", "selector", "all_namespaces", "namespace")
_NAMESPACE: Final = "namespace"
#: The option groups that every next question inherits, and (``_CARRIED``) single options that it inherits.
_CARRIED_GROUPS: Final = (SourceOptions.title, WhatIfOptions.title)
_CARRIED: Final = ("no_admission", "validate", *_SUBJECTS)
#: The options that change no answer, so that no next question inherits them.
_NEVER_CARRIED: Final = frozenset({"cache"})
_SOURCE: Final = frozenset(field.name for field in fields(SourceOptions))
#: The options that are commonly written in their short form.
_SHORT: Final = ("-f", "-n", "-A", "-l", "-o")


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """The invocation of a command."""

    #: The command, such as ``explain`` or ``leader simulate``.
    command: str
    values: Mapping[str, Any]
    #: The options that select a single pod, by the name of the pod, as in ``CommandResult``.
    arguments: Mapping[str, Mapping[str, object]]

    def command_line(self, question: Question) -> str:
        """Write the command that answers a next question.

        Every next command inherits the options that select the cluster, its rules and what-ifs. It inherits the options
        that select pods unless the question is about another pod. Other options are inherited only by the same command.

        Returns: The command; empty if it is the one that was run, so that its answer is shown already.
        """
        parameters = parameters_of(question.command)
        same = question.command == self.command
        own = parameters_of(self.command) if self.command else {}
        values = {
            name: self.values[name]
            for name, parameter in parameters.items()
            if name in self.values
            and name not in _NEVER_CARRIED
            and _group(parameter) != OutputOptions.title
            and (same or (_group(own.get(name, parameter)) in _CARRIED_GROUPS or name in _CARRIED))
        }
        if question.snapshot:
            values = {
                name: value
                for name, value in values.items()
                if not (name in _SOURCE or _group(parameters[name]) == WhatIfOptions.title)
            }
            values["snapshot"] = (question.snapshot,)
        if question.about:
            values = {
                name: value
                for name, value in values.items()
                if name not in _SUBJECTS and not _is_argument(parameters[name])
            }
            values |= self._naming(question.about, parameters)
        values |= question.options
        line = command_line(*question.command.split(), *written(parameters, values))
        is_repeated = same and question.options and line == self.command_line(Question("", self.command))
        return "" if is_repeated else line

    def _naming(self, about: str, parameters: Mapping[str, inspect.Parameter]) -> Iterator[tuple[str, object]]:
        """Yield the options with which another command selects only the given pod or object."""
        argument = next((name for name, parameter in parameters.items() if _is_argument(parameter)), _ARGUMENTS[0])
        named = self.arguments.get(about)
        if named is None:
            yield argument, (about,)
            return
        for name, value in named.items():
            yield argument if name in _ARGUMENTS else name, value
        # The name of an object includes its namespace; an object of a manifest may need -n.
        if _NAMESPACE in self.values and _NAMESPACE not in named:
            yield _NAMESPACE, self.values[_NAMESPACE]


def written(parameters: Mapping[str, inspect.Parameter], values: Mapping[str, object]) -> Iterator[str]:
    """Yield the words of a command line: arguments first, then the command's own options, then the others.

    Args:
        parameters: The declared options, by name.
        values: The values by name; an option without a value, or with its default, is omitted.
    """

    def place(name: str) -> tuple[bool, bool, bool]:
        parameter = parameters[name]
        group = _group(parameter)
        return not _is_argument(parameter), group == OutputOptions.title, not group

    for name in sorted(parameters, key=place):
        parameter = parameters[name]
        value = values.get(name)
        if value is None or value == parameter.default or value in ((), [], ""):
            continue
        every: Sequence[object] = value if isinstance(value, list | tuple) else (value,)
        for one in every:
            text = str(one.value) if isinstance(one, Enum) else str(one)
            if _is_argument(parameter):
                yield text
            elif isinstance(one, bool):
                yield _flag(parameter)
            else:
                yield from (_flag(parameter), text)


def _group(parameter: inspect.Parameter) -> str:
    """Return the title of the group that an option belongs to; empty for the command's own options."""
    return getattr(_declared(parameter), "rich_help_panel", None) or ""


def _declared(parameter: inspect.Parameter) -> Any:
    return parameter.annotation.__metadata__[0]


def _is_argument(parameter: inspect.Parameter) -> bool:
    return type(_declared(parameter)).__name__ == "ArgumentInfo"


def _flag(parameter: inspect.Parameter) -> str:
    """Return the spelling of an option: the short form if it is in common use, else the long form."""
    declared = _declared(parameter)
    # Inside Annotated, typer stores the first spelling as the default.
    names = [name for name in (declared.default, *declared.param_decls) if isinstance(name, str) and name[:1] == "-"]
    short = [name for name in names if name in _SHORT]
    return short[0] if short else names[0]

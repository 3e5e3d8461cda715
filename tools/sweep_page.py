"""The reference section of docs/sweep.md: the fields of a plan, the kinds of axes, and the columns to measure."""

import types
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import FieldInfo

from kschedctl.questions.sweep.measurements import OF_CLUSTER, OWN
from kschedctl.questions.sweep.plan import (
    EDITS_BY_NAME,
    OPTIONS,
    OTHERS,
    AxisPlan,
    Base,
    NumberRange,
    Plan,
    PlanStruct,
    Random,
)

#: The parts of a plan, in the order of the page, each with its heading.
PARTS: Final[dict[type[PlanStruct], str]] = {
    Plan: "A plan",
    Base: "`base`",
    AxisPlan: "An axis",
    NumberRange: "A range of values",
    Random: "`combine`, of some",
}
_PLAIN: Final = {str: "text", int: "number", float: "number", bool: "true or false", Any: "anything"}


def reference() -> str:
    """Return the section as Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for kind, title in PARTS.items():
        yield from (
            f"### {title}",
            "",
            (kind.__doc__ or "").split("\n")[0],
            "",
            "| field | value | what |",
            "|---|---|---|",
        )
        hints = get_type_hints(kind, include_extras=True)
        for field in msgspec.structs.fields(kind):
            yield _field(field, hints[field.name])
        yield ""
    yield from ("### What an axis can be of", "", "| of | what changes |", "|---|---|")
    for name, edit in EDITS_BY_NAME.items():
        metavar = edit.option.metavar.replace("|", "\\|")
        yield f"| `{name}` | `{metavar}`: {edit.option.help.replace('|', chr(92) + '|')} |"
    yield from (f"| `{name}` | {text} |" for name, text in OTHERS.items())
    for ask, options in OPTIONS.items():
        yield from (f"| `{name}` | of `{ask}`: {each.option.help} |" for name, each in options.items())
    yield from ("", "### What can be measured", "", "| column | of | what |", "|---|---|---|")
    for ask, columns in OWN.items():
        yield from (f"| `{name}` | `{ask}` | {text} |" for name, text in columns.items())
    yield from (f"| `{name}` | all | {text} |" for name, text in OF_CLUSTER.items())


def _field(field: FieldInfo, hint: Any) -> str:
    note = get_args(hint)[1] if get_origin(hint) is Annotated else ""
    described = note if isinstance(note, str) else note.description
    needed = "" if not field.required or described.endswith("needed.") else " Needed."
    if isinstance(field.default, str | int) and field.default != "" and "Default" not in described:
        needed = f" Default: `{field.default}`."
    values = _words(hint).replace("|", "\\|")
    return f"| `{field.encode_name}` | {values} | {(described + needed).strip()} |"


def _words(hint: Any) -> str:
    """Return a type in words."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _words(args[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_words, args)))
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in args)
    if origin is tuple:
        return "a list" if args[0] is Any else f"a list of {_words(args[0])}s"
    if origin is dict:
        return f"by name: {_words(args[1])}"
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return " or ".join(f"`{value}`" for value in hint)
    if isinstance(hint, type) and issubclass(hint, PlanStruct):
        return {Base: "a base", AxisPlan: "an axis", NumberRange: "a range", Random: "of some"}[hint]
    return _PLAIN[hint]

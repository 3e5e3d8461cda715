"""The options for the output format of a command, and for the strictness of its exit code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from kschedctl.cli import completion
from kschedctl.cli.options.group import OptionGroup
from kschedctl.cli.terminal import ColorWhen
from kschedctl.output.form import Form, FormError, FormKind
from kschedctl.output.forms import parse_form, usage


def _output(kind: FormKind) -> Any:
    return typer.Option(
        "--output",
        "-o",
        metavar=usage(kind),
        help="Output format.",
        autocompletion=completion.table_forms if kind is FormKind.TABLE else completion.forms,
        show_default=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions(OptionGroup):
    """The output options."""

    title: ClassVar[str] = "Output"
    #: The kind of the answer, which determines the supported formats.
    kind: ClassVar[FormKind] = FormKind.ANSWER

    output: Annotated[str, _output(FormKind.ANSWER)] = ""
    color: Annotated[
        ColorWhen, typer.Option("--color", help="When to use colours. auto: on a terminal, unless NO_COLOR is set.")
    ] = ColorWhen.AUTO
    no_color: Annotated[bool, typer.Option("--no-color", help="Same as --color=never.")] = False
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 if the answer is uncertain or incomplete.")] = (
        False
    )

    @property
    def is_short(self) -> bool:
        """True for the default text output, which may summarize; other formats contain everything."""
        return not self.output

    def colors(self) -> ColorWhen:
        """Return the use of colours.

        Raises
        ------
        typer.BadParameter
            If both options are given and contradict each other.
        """
        if self.no_color and self.color is ColorWhen.ALWAYS:
            raise typer.BadParameter("--no-color is given, too", param_hint="--color")
        return ColorWhen.NEVER if self.no_color else self.color

    def form(self) -> Form:
        """Return the output format.

        Raises
        ------
        typer.BadParameter
            If there is no such format, or its template is invalid.
        """
        try:
            return parse_form(self.output, self.kind)
        except FormError as error:
            raise typer.BadParameter(str(error), param_hint="--output") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOutputOptions(OutputOptions):
    """The output options of commands with a tabular answer."""

    kind: ClassVar[FormKind] = FormKind.TABLE

    output: Annotated[str, _output(FormKind.TABLE)] = ""

"""In which form a command answers, and how strict its exit code is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from kschedctl.cli import completion
from kschedctl.cli.options.group import OptionGroup
from kschedctl.cli.terminal import ColorWhen
from kschedctl.render.form import Form, FormError, FormKind
from kschedctl.render.forms import parse_form, usage


def _output(kind: FormKind) -> Any:
    return typer.Option(
        "--output",
        "-o",
        metavar=usage(kind),
        help="Another form of the answer.",
        autocompletion=completion.table_forms if kind is FormKind.TABLE else completion.forms,
        show_default=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions(OptionGroup):
    """The form of the answer."""

    title: ClassVar[str] = "Output"
    #: The kind of the answer, which has some forms of its own.
    kind: ClassVar[FormKind] = FormKind.ANSWER

    output: Annotated[str, _output(FormKind.ANSWER)] = ""
    color: Annotated[
        ColorWhen, typer.Option("--color", help="When to use colours. auto: on a terminal, without NO_COLOR.")
    ] = ColorWhen.AUTO
    no_color: Annotated[bool, typer.Option("--no-color", help="The same as --color=never.")] = False
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 where something puts the answer in doubt.")] = (
        False
    )

    @property
    def is_short(self) -> bool:
        """True for text on a screen, which may sum up what other forms have in full."""
        return not self.output

    def colors(self) -> ColorWhen:
        """When the answer has colours.

        Raises
        ------
        typer.BadParameter
            Where both options are given and say different things.
        """
        if self.no_color and self.color is ColorWhen.ALWAYS:
            raise typer.BadParameter("--no-color is given as well", param_hint="--color")
        return ColorWhen.NEVER if self.no_color else self.color

    def form(self) -> Form:
        """The form that is asked for.

        Raises
        ------
        typer.BadParameter
            Where there is no such form, or its template is wrong.
        """
        try:
            return parse_form(self.output, self.kind)
        except FormError as error:
            raise typer.BadParameter(str(error), param_hint="--output") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOutputOptions(OutputOptions):
    """The form of an answer that is a table as well."""

    kind: ClassVar[FormKind] = FormKind.TABLE

    output: Annotated[str, _output(FormKind.TABLE)] = ""

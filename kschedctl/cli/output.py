"""The forms of ``-o``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

import typer

if TYPE_CHECKING:
    from kschedctl.report.explain.data import Data


class Form(StrEnum):
    """What an answer is printed as."""

    TEXT = ""
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    JSONPATH = "jsonpath"


@dataclass(frozen=True, slots=True)
class OutputForm:
    """A form, with the template where it takes one."""

    form: Form
    template: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the value of ``-o``.

        Raises
        ------
        typer.BadParameter
            Where there is no such form, or its template is wrong.
        """
        # kubectl's users also write -o=json.
        name, equals, template = text.removeprefix("=").partition("=")
        known = name in list(Form) and (name or not equals)
        if not known or bool(equals) != (name == Form.JSONPATH):
            forms = ", ".join([*(form for form in Form if form not in (Form.TEXT, Form.JSONPATH)), "jsonpath=TEMPLATE"])
            raise typer.BadParameter(f'"{text}" is not one of {forms}', param_hint="--output")
        form = Form(name)
        if form is Form.JSONPATH:
            from kschedctl.report.render.jsonpath import parse_template
            from kschedctl.report.render.jsonpath_steps import JsonPathError

            try:
                parse_template(template)
            except JsonPathError as error:
                raise typer.BadParameter(f"jsonpath: {error}", param_hint="--output") from None
        return cls(form, template)

    @property
    def is_text(self) -> bool:
        """Whether the answer is for people."""
        return self.form in (Form.TEXT, Form.WIDE)

    def render(self, value: Data, names: str) -> str:
        """An answer in the form, which is not text.

        Parameters
        ----------
        value : Data
            The answer.
        names : str
            What ``name`` prints.
        """
        from kschedctl.report.render import data

        match self.form:
            case Form.JSON:
                return data.as_json(value)
            case Form.YAML:
                return data.as_yaml(value)
            case Form.NAME:
                return names
        return data.as_jsonpath(value, self.template)

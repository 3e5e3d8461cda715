"""The forms that there are: the values of ``-o``. A new one is a module beside this one and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kschedctl.report.render.csv import Csv
from kschedctl.report.render.form import Form, FormError
from kschedctl.report.render.json import Json
from kschedctl.report.render.jsonl import JsonLines
from kschedctl.report.render.jsonpath import JsonPath
from kschedctl.report.render.name import Name
from kschedctl.report.render.parquet import Parquet
from kschedctl.report.render.text import Text, Wide
from kschedctl.report.render.yaml import Yaml

FORMS: Final[Mapping[str, type[Form]]] = MappingProxyType(
    {form.name: form for form in (Text, Wide, Json, Yaml, Name, JsonPath, JsonLines, Csv, Parquet)}
)


def usage(separator: str = "|", argument: str = "...", *, tabular: bool = False) -> str:
    """The forms that have a name, for help and errors; those of tables where there is one."""
    named = (form for form in FORMS.values() if form.name and (tabular or not form.tabular))
    return separator.join(f"{form.name}={argument or form.argument}" if form.argument else form.name for form in named)


def parse_form(text: str, *, tabular: bool = False) -> Form:
    """Read the value of ``-o``.

    Parameters
    ----------
    tabular : bool
        Whether the answer is a table.

    Raises
    ------
    FormError
        Where there is no such form, or what follows its name is wrong.
    """
    # kubectl's users also write -o=json.
    name, equals, argument = text.removeprefix("=").partition("=")
    form = FORMS.get(name)
    if form is None or bool(equals) != bool(form.argument) or (form.tabular and not tabular):
        raise FormError(f'"{text}" is not one of {usage(", ", argument="", tabular=tabular)}')
    return form.parse(argument)

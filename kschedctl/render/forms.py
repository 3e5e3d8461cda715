"""The registry of output formats: the values of ``-o``. A new format is a module beside this one and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kschedctl.render.concise import Concise
from kschedctl.render.csv import Csv
from kschedctl.render.form import Form, FormError, FormKind
from kschedctl.render.github import GitHub
from kschedctl.render.gitlab import GitLab
from kschedctl.render.html import Html
from kschedctl.render.json import Json
from kschedctl.render.jsonl import JsonLines
from kschedctl.render.jsonpath import JsonPath
from kschedctl.render.junit import JUnit
from kschedctl.render.name import Name
from kschedctl.render.parquet import Parquet
from kschedctl.render.sarif import Sarif
from kschedctl.render.text import Human, Text, Wide
from kschedctl.render.yaml import Yaml

_EVERY: Final[tuple[type[Form], ...]] = (
    Text,
    Wide,
    Human,
    Concise,
    Html,
    Json,
    Yaml,
    Name,
    JsonPath,
    JsonLines,
    Csv,
    Parquet,
    Sarif,
    JUnit,
    GitHub,
    GitLab,
)
FORMS: Final[Mapping[str, type[Form]]] = MappingProxyType({form.name: form for form in _EVERY})


def names(kind: FormKind) -> tuple[str, ...]:
    """Return the names of the formats for a kind of answers."""
    return tuple(name for name, form in FORMS.items() if name and kind in form.kinds)


def usage(kind: FormKind, separator: str = "|", argument: str = "...") -> str:
    """Return the named formats for a kind of answers, for help and error messages."""
    named = (FORMS[name] for name in names(kind))
    return separator.join(f"{form.name}={argument or form.argument}" if form.argument else form.name for form in named)


def parse_form(text: str, kind: FormKind) -> Form:
    """Parse the value of ``-o``.

    Raises
    ------
    FormError
        If the kind of answers does not support the format, or the text after its name is invalid.
    """
    # Users of kubectl also write -o=json.
    name, equals, argument = text.removeprefix("=").partition("=")
    form = FORMS.get(name)
    if form is None or bool(equals) != bool(form.argument) or kind not in form.kinds:
        raise FormError(f'"{text}" is not one of {usage(kind, ", ", argument="")}')
    return form.parse(argument)

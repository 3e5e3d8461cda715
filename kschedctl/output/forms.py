"""The registry of output formats: the values of ``-o``. A new format is a module beside this one and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from kschedctl.output.form import Form, FormError, FormKind

_ANSWERS: Final = frozenset({FormKind.ANSWER, FormKind.TABLE})
_TABLE: Final = frozenset({FormKind.TABLE})
_FINDINGS: Final = frozenset({FormKind.FINDINGS})


class RegisteredForm(NamedTuple):
    """An output format that is imported only when it is used.

    Attributes
    ----------
    place : str
        The module below ``kschedctl.output`` and the class in it, as in an entry point.
    kinds : frozenset of FormKind
        The kinds of answers that the format supports.
    argument : str
        The metavar of the text after ``=``, for the help; empty if the format takes none.
    """

    place: str
    kinds: frozenset[FormKind] = _ANSWERS
    argument: str = ""

    def load(self) -> type[Form]:
        """Import the format."""
        return cast("type[Form]", resolve_name(f"kschedctl.output.{self.place}"))


#: The formats by name; the empty name is the default format.
FORMS: Final[Mapping[str, RegisteredForm]] = MappingProxyType(
    {
        "": RegisteredForm("text:Text"),
        "wide": RegisteredForm("text:Wide"),
        "human": RegisteredForm("text:Text", _FINDINGS),
        "concise": RegisteredForm("concise:Concise", _FINDINGS),
        "html": RegisteredForm("html:Html", _ANSWERS | _FINDINGS),
        "json": RegisteredForm("json:Json", _ANSWERS | _FINDINGS),
        "yaml": RegisteredForm("yaml:Yaml"),
        "name": RegisteredForm("name:Name"),
        "jsonpath": RegisteredForm("jsonpath:JsonPath", argument="TEMPLATE"),
        "jsonl": RegisteredForm("jsonl:JsonLines", _TABLE | _FINDINGS),
        "csv": RegisteredForm("csv:Csv", _TABLE),
        "parquet": RegisteredForm("parquet:Parquet", _TABLE),
        "sarif": RegisteredForm("sarif:Sarif", _FINDINGS),
        "junit": RegisteredForm("junit:JUnit", _FINDINGS),
        "github": RegisteredForm("github:GitHub", _FINDINGS),
        "gitlab": RegisteredForm("gitlab:GitLab", _FINDINGS),
    }
)


def names(kind: FormKind) -> tuple[str, ...]:
    """Return the names of the formats for a kind of answers."""
    return tuple(name for name, form in FORMS.items() if name and kind in form.kinds)


def usage(kind: FormKind, separator: str = "|", argument: str = "...") -> str:
    """Return the named formats for a kind of answers, for help and error messages."""
    arguments = {name: FORMS[name].argument for name in names(kind)}
    return separator.join(f"{name}={argument or taken}" if taken else name for name, taken in arguments.items())


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
    return form.load().parse(argument)

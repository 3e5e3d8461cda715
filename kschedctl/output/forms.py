"""The base of all output formats; ``forms`` is their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pkgutil import resolve_name
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, Self, cast

if TYPE_CHECKING:
    from kschedctl.common.frames import Tabular
    from kschedctl.questions.answer import Answer, AnswerStream
    from kschedctl.questions.document import Question
    from kschedctl.questions.frame import View

    Answers = Answer | AnswerStream[Any]


class Console(Protocol):
    """The properties of a console that forms depend on; the names are those of rich."""

    @property
    def width(self) -> int:
        """The width in characters."""

    @property
    def encoding(self) -> str:
        """The encoding, in lower case."""

    @property
    def color_system(self) -> str | None:
        """The colours that are available; ``None`` for none. A console with colours is one of rich."""

    @property
    def is_terminal(self) -> bool:
        """True for a terminal."""

    @property
    def file(self) -> IO[str]:
        """The stream that the text is for."""


@dataclass(frozen=True, slots=True)
class Medium:
    """The medium that output is written to."""

    #: Opens the console with its width, colours and encoding; machine-readable formats need none.
    console: Callable[[], Console]
    #: Writes a next question as the command that answers it.
    command_line: Callable[[Question], str]


def collected(answer: Answers) -> Answer:
    """Return the answer; collect all answers of a stream."""
    from kschedctl.questions.answer import AnswerStream

    return answer.collect() if isinstance(answer, AnswerStream) else answer


def as_table(answer: Answers) -> Tabular:
    """Return the answer of a command that supports tabular formats."""
    return cast("Tabular", collected(answer))


class FormKind(Enum):
    """The kinds of answers that output formats support."""

    ANSWER = auto()
    TABLE = auto()
    FINDINGS = auto()


class FormError(ValueError):
    """An invalid value of ``-o``."""


class Form(ABC):
    """An output format: a value of ``-o``."""

    #: True if the format draws charts, which need the nodes of the cluster.
    draws: ClassVar[bool] = False

    @classmethod
    def parse(cls, argument: str) -> Self:
        """Parse the text after ``=``.

        Raises FormError if the text is invalid.
        """
        return cls()

    @abstractmethod
    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Yield the answer in this format, piece by piece.

        Args:
            answer: The answer; machine-readable formats collect a stream, text is written answer by answer.
            view: The part that is shown in text output.
        """


# The registry of output formats: the values of ``-o``. A new format is a class beside the others and a line here.

_ANSWERS: Final = frozenset({FormKind.ANSWER, FormKind.TABLE})
_TABLE: Final = frozenset({FormKind.TABLE})
_FINDINGS: Final = frozenset({FormKind.FINDINGS})


class RegisteredForm(NamedTuple):
    """An output format that is imported only when it is used."""

    #: The module below ``kschedctl.output`` and the class in it, as in an entry point.
    place: str
    #: The kinds of answers that the format supports.
    kinds: frozenset[FormKind] = _ANSWERS
    #: The metavar of the text after ``=``, for the help; empty if the format takes none.
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
        "concise": RegisteredForm("finding_forms:Concise", _FINDINGS),
        "html": RegisteredForm("page.page:Html", _ANSWERS | _FINDINGS),
        "json": RegisteredForm("data_forms:Json", _ANSWERS | _FINDINGS),
        "yaml": RegisteredForm("data_forms:Yaml"),
        "name": RegisteredForm("data_forms:Name"),
        "jsonpath": RegisteredForm("jsonpath:JsonPath", argument="TEMPLATE"),
        "jsonl": RegisteredForm("data_forms:JsonLines", _TABLE | _FINDINGS),
        "csv": RegisteredForm("data_forms:Csv", _TABLE),
        "sarif": RegisteredForm("finding_forms:Sarif", _FINDINGS),
        "junit": RegisteredForm("finding_forms:JUnit", _FINDINGS),
        "github": RegisteredForm("finding_forms:GitHub", _FINDINGS),
        "gitlab": RegisteredForm("finding_forms:GitLab", _FINDINGS),
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

    Raises FormError if the kind of answers does not support the format, or the text after its name is invalid.
    """
    # Users of kubectl also write -o=json.
    name, equals, argument = text.removeprefix("=").partition("=")
    form = FORMS.get(name)
    if form is None or bool(equals) != bool(form.argument) or kind not in form.kinds:
        raise FormError(f'"{text}" is not one of {usage(kind, ", ", argument="")}')
    return form.load().parse(argument)

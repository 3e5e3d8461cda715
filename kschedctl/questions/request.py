"""A question as data: a type per question, whose fields are options of a command, parameters of the API and keywords.

``questions/NAME/request.py`` declares it. The command line (``cli/command``), the API and the forms of the server
(``web/questions``) and the method of a cluster (``questions/method``) are made from the declaration.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from pkgutil import resolve_name
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    NamedTuple,
    Self,
    TypeAlias,
    TypeVar,
    get_args,
)

from kschedctl.common.errors import InputError
from kschedctl.common.options import Example, Option
from kschedctl.common.text.patterns import pattern
from kschedctl.questions.handle import AnalysisHandle

if TYPE_CHECKING:
    from kschedctl.objects.pod import Pod
    from kschedctl.questions.provenance import PodSubject
    from kschedctl.trials.loaded_cluster import LoadedCluster

    #: A pod: an object, its manifest as data, ``namespace/name`` of a pod of the cluster, or the path of a manifest.
    AnyPod: TypeAlias = Pod | Mapping[str, Any] | str | Path
    #: The pods of a request: the pod of a program, or the pods that a command or the server has found.
    Pods: TypeAlias = AnyPod | tuple[PodSubject, ...]
else:
    AnyPod = Pods = Any

A = TypeVar("A", covariant=True)
_SECTION = pattern(r"\n\n(\w+)\n-+\n")


class RequestError(InputError):
    """The error for options that contradict one another, or of which one is missing.

    Args:
        problem: The problem, in which ``{field}`` stands for the name of an option.
        field: The field of the request.
    """

    def __init__(self, problem: str, field: str) -> None:
        self.problem, self.field = problem, field
        super().__init__(problem.replace("{", "").replace("}", ""), path=field)

    def named(self, names: Mapping[str, str]) -> str:
        """The problem, with the names that fields have where the request comes from."""
        return self.problem.format_map(names)


def renamed(error: InputError, names: Mapping[str, str]) -> InputError:
    """Return the error of an analysis, which names an option by its flag, with the names of another medium."""
    if not any(each.field in names for each in error.findings):
        return error
    return type(error).together(replace(each, field=names.get(each.field, each.field)) for each in error.findings)


@dataclass(frozen=True, kw_only=True)
class AnalysisRequest(Generic[A]):
    """Base of the requests; a field without an `Option` is set by whoever makes the request, and is no option."""

    #: The examples at the end of the command's help.
    examples: ClassVar[tuple[Example, ...]] = ()
    #: False if nothing is decided for pods, so that extenders and what-ifs about pods do not matter.
    decides: ClassVar[bool] = True
    #: The path of the question in the API; empty if ``serve`` does not offer it.
    path: ClassVar[str] = ""
    #: The name of its operation there.
    operation: ClassVar[str] = ""
    #: The title of its form in the pages.
    title: ClassVar[str] = ""
    #: The page of its form; if empty, it is at the path of the question, and in the menu.
    page: ClassVar[str] = ""

    handle: Annotated[AnalysisHandle | None, "Shows the progress, and can cancel the analysis."] = None

    def __post_init__(self) -> None:
        for field in declared(type(self)):
            value = before = getattr(self, field.name)
            choices = field.choices
            if field.is_list and isinstance(value, Iterable):
                # A single text stands for a list of one.
                value = (value,) if isinstance(value, str) else tuple(value)
            elif choices is not None and isinstance(value, str):
                if value not in list(choices):
                    raise InputError(f'"{value}" is not one of {", ".join(choices)}', path=field.name)
                value = choices(value)
            names = (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()
            if field.option.completion == "nodes" and any(isinstance(each, str) and "/" in each for each in names):
                # Names of nodes as -o name prints them; other requests need no kinds.
                from kschedctl.objects.core import Node
                from kschedctl.objects.kinds import without_kind

                names = tuple(without_kind(each, Node) if isinstance(each, str) else each for each in names)
                value = names[0] if isinstance(value, str) else names
            if value is not before:
                object.__setattr__(self, field.name, value)

    def check(self) -> None:
        """Check the options together.

        Raises RequestError if they contradict one another.
        """

    def require_known(self, cluster: "LoadedCluster") -> None:
        """Check that the cluster has the objects that the options name, without answering the question.

        Raises InputError if it has not, or a selector cannot be parsed.
        """

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> A:
        """Answer the question."""
        raise NotImplementedError

    @classmethod
    def options(cls) -> dict[str, Option]:
        """The options, by the name of the field."""
        return {field.name: field.option for field in declared(cls)}

    @classmethod
    def texts(cls) -> dict[str, str]:
        """The sections of the docstring by their heading; the question in words has none.

        *Command* has what is only said of the command, the others are those of numpydoc.
        """
        parts = _SECTION.split(inspect.getdoc(cls) or "")
        return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}

    @classmethod
    def text(cls) -> str:
        """The question in words, as the help of the command has it."""
        texts = cls.texts()
        return "\n\n".join(texts[name] for name in ("", "Command") if name in texts)


@dataclass(frozen=True)
class PodsRequest(AnalysisRequest[A]):
    """A question about pods: the pod of a program, or several, those of one workload after each other."""

    pod: Annotated[
        Pods,
        "The pod: an object, its manifest as data, namespace/name of a pod of the cluster, or the path of a manifest.",
    ] = ()

    @property
    def pods(self) -> "tuple[PodSubject, ...]":
        """The pods; only of a request that has found them."""
        assert isinstance(self.pod, tuple)
        return self.pod

    def found(self, cluster: "LoadedCluster") -> Self:
        """Return the request with the pod of a program found in the cluster, or in its manifest.

        Raises InputError if there is no such pod, none is named, or the manifest is wrong.
        """
        from kschedctl.questions.provenance import PodSubject

        if self.pod == ():
            raise InputError("names no pod", path="pod")
        if isinstance(self.pod, tuple) and all(isinstance(one, PodSubject) for one in self.pod):
            return self
        given: Any = self.pod
        pod, where = cluster.written_pod(given)
        return replace(self, pod=(PodSubject(pod, where=where),))


class DeclaredOption(NamedTuple):
    """A field of a request that is an option."""

    name: str
    #: The type of its value.
    type: Any
    default: Any
    option: Option
    #: True if its value is a list of texts.
    is_list: bool
    #: The enumeration that its values are from, if there is one.
    choices: type[StrEnum] | None

    @classmethod
    def of(cls, name: str, kind: Any, default: Any, option: Option) -> "DeclaredOption":
        """Return an option with what its type says of its values."""
        types = (each for each in (kind, *get_args(kind)) if isinstance(each, type))
        choices = next((each for each in types if issubclass(each, StrEnum)), None)
        return cls(name, kind, default, option, kind == Sequence[str], choices)


#: The options of the requests that were made; a server makes some for each question.
_DECLARED: Final[dict[type, tuple[DeclaredOption, ...]]] = {}


def declared(kind: type[AnalysisRequest[Any]]) -> tuple[DeclaredOption, ...]:
    """Return the options of a request, in their order."""
    found = _DECLARED.get(kind)
    if found is None:
        found = _DECLARED[kind] = tuple(
            DeclaredOption.of(field.name, field.type.__origin__, field.default, each)  # type: ignore[union-attr]
            for field in fields(kind)
            for each in getattr(field.type, "__metadata__", ())
            if isinstance(each, Option)
        )
    return found


def request_of(command: str) -> type[AnalysisRequest[Any]]:
    """Import the request of a command that is a question, such as ``drain``."""
    kind: type[AnalysisRequest[Any]] = resolve_name(
        f"kschedctl.questions.{command}.request:{command.capitalize()}Request"
    )
    return kind

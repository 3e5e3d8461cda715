"""The type of a question, and the reading of its parameters from an address."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, Literal, TypeVar, cast, get_args
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Location
from kschedctl.common.wording import listed, similar
from kschedctl.objects.meta import ApiObject
from kschedctl.questions.answer import Answer
from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.manifests import ManifestRequest, Manifests, read_manifests
from kschedctl.questions.request import AnalysisRequest, RequestError, declared, renamed
from kschedctl.sources.snapshot.files import STDIN
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.edit import Edit, FileEdit
from kschedctl.trials.whatif.edits import EDITS, Apply, WhatIfs

if TYPE_CHECKING:
    from litestar import Request

#: The what-ifs that a request can have: those that read no file.
OFFERED: Final[tuple[type[Edit], ...]] = tuple(edit for edit in EDITS if not issubclass(edit, FileEdit))
#: Their names, by the name of the parameter.
_NAMES_OF_EDITS: Final = {edit.option.flag.removeprefix("--"): edit.option.name for edit in OFFERED}
#: The largest manifest after unpacking, in bytes.
MOST_UNPACKED: Final = 16 * 2**20


class Query(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """Base of the parameters of questions, named as the options of the command line."""


class NoParameters(Query, frozen=True, kw_only=True):
    """No parameters."""


#: The parameters that name an object.
Namespace = Annotated[str, Meta(description="The namespace of the object.")]
Name = Annotated[str, Meta(description="The name of the object.")]


class ObjectQuery(Query, frozen=True, kw_only=True):
    """The name of an object in a namespace."""

    namespace: Namespace
    name: Name


Q = TypeVar("Q", bound=Query, covariant=True)
T = TypeVar("T")
R = TypeVar("R", bound=AnalysisRequest[Any], covariant=True)


@dataclass(frozen=True, slots=True)
class Asked(Generic[Q]):
    """A question as it was asked."""

    query: Q
    what_ifs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The manifests; empty if there are none.
    body: bytes = b""
    #: The snapshots that the cluster may be compared with, each with the rules of the cluster.
    compare: tuple[ClusterRequest, ...] = ()

    def over(
        self, cluster: LoadedCluster, handle: AnalysisHandle, manifests: Sequence[tuple[ApiObject, Location]] = ()
    ) -> LoadedCluster:
        """Return the cluster with the manifests' objects applied first, and then the changes to try.

        Raises InputError if a change cannot be made.
        """
        edits: list[Edit] = [Apply(tuple(manifests), source="manifests")] if manifests else []
        edits += WhatIfs(texts=self.what_ifs).edits(handle.warn_of)
        return cluster.with_edits(*edits) if edits else cluster

    def content(self) -> bytes:
        """Return the text of the manifests.

        Raises InputError if there is none.
        """
        if not self.body.strip():
            raise InputError("the request has no manifest", hint="send it as the body, as YAML or JSON")
        return self.body

    def manifests(self, handle: AnalysisHandle, namespace: str = "") -> Manifests:
        """Read the manifests.

        Args:
            namespace: The namespace of objects that name none; empty for ``default``.

        Raises InputError if something is wrong with the manifests, or there are none.
        """
        request = ManifestRequest(paths=(STDIN,), namespace=namespace, content=self.content())
        return read_manifests(request, ClusterRequest(source=ClusterSource(max_bytes=MOST_UNPACKED)), handle)


@dataclass(frozen=True, slots=True)
class AskedRequest(Asked[Q], Generic[Q, R]):
    """A question as it was asked, with the request that the options among its parameters make."""

    request: R = field(kw_only=True)


#: The largest number of values of all parameters together.
_MOST_VALUES: Final = 200


class Body(Enum):
    """The use of the body of a request."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


_MISSING: Final = re.compile(r"Object missing required field `(.*)`")
#: The kinds of values in msgspec's messages.
_KINDS: Final = {
    "int": "is not a whole number",
    "bool": "is neither true nor false",
    "str": "is not a text",
    "array": "has no list of values",
}


@dataclass(frozen=True)
class Question:
    """A question."""

    #: The path below ``/api/v1``, with the names of parameters in braces.
    path: str
    #: The function that answers it in a worker process.
    run: Callable[[LoadedCluster, Any, AnalysisHandle], Answer]
    answers: tuple[type[msgspec.Struct], ...]
    _: KW_ONLY
    method: Literal["GET", "POST"] = "GET"
    #: The use of the body, which has manifests.
    body: Body = Body.NONE
    #: True if changes can be tried.
    what_ifs: bool = True
    #: True if it takes long, so that it runs as a job.
    is_job: bool = False

    #: A check of parameters and body together, which raises InputError.
    check: Callable[[Any], None] | None = None
    #: Finds the objects and manifests that it is about, without answering it; raises InputError if one does not exist
    #: or cannot be read.
    find: Callable[[LoadedCluster, Any, AnalysisHandle], object] | None = None
    #: The request that declares its options; by default the one that the function takes.
    request: type[AnalysisRequest[Any]] | None = None

    @classmethod
    def of(cls, request: type[AnalysisRequest[Any]], answers: tuple[type[msgspec.Struct], ...]) -> "Question":
        """Return the question that a request declares."""
        return cls(
            request.path, answer_request, answers, method="POST", is_job=True, find=find_request, request=request
        )

    @cached_property
    def own(self) -> type[Query]:
        """The parameters of the function itself."""
        query: type[Query] = get_args(self.run.__annotations__["asked"])[0]
        return query

    @cached_property
    def of_request(self) -> type[AnalysisRequest[Any]] | None:
        """The request that the function takes; ``None`` if it takes none."""
        taken = get_args(self.run.__annotations__["asked"])[1:]
        return self.request or next(iter(taken), None)

    @cached_property
    def asks(self) -> type[Query]:
        """All parameters: those of the function itself, and the options of its request."""
        return self.own if self.of_request is None else parameters_with(self.own, self.of_request)

    @cached_property
    def _fields(self) -> dict[str, msgspec.structs.FieldInfo]:
        """The fields of all parameters, by the name of the parameter."""
        return {each.encode_name: each for each in msgspec.structs.fields(self.asks)}

    @property
    def name(self) -> str:
        """The name of the question, such as ``explain_pod``."""
        return self.request.operation if self.request is not None else self.run.__name__

    @property
    def summary(self) -> str:
        """The question in one sentence."""
        text = self.request.text() if self.request is not None else inspect.getdoc(self.run) or ""
        return text.partition("\n")[0]

    def asked(
        self,
        in_path: dict[str, str],
        values: Iterable[tuple[str, str]],
        body: bytes = b"",
        compare: tuple[ClusterRequest, ...] = (),
        *,
        is_complete: bool = True,
    ) -> Asked[Query]:
        """Read a request.

        Args:
            values: The parameters after the path, in their order; a parameter may have several values.
            compare: The snapshots that the cluster may be compared with.
            is_complete: False if the parameters are those of a form, which people fill in yet.

        Raises InputError if there is no such parameter, or a value cannot be read.
        """
        edits = _NAMES_OF_EDITS if self.what_ifs else {}
        fields = self._fields
        data: dict[str, Any] = dict(in_path)
        texts: dict[str, tuple[str, ...]] = {}
        for number, (name, value) in enumerate(values):
            if number >= _MOST_VALUES:
                raise InputError(f"the request has more than {_MOST_VALUES} parameters")
            if name in edits:
                texts[edits[name]] = (*texts.get(edits[name], ()), value)
            elif name not in fields or name in in_path:
                known = [*(each for each in fields if each not in in_path), *edits]
                close = similar(name, known)
                hint = (
                    f"did you mean {listed(close, 'or')}?"
                    if close
                    else f"the parameters are {listed(known, most=len(known))}"
                )
                raise InputError(f'"{name}" is not a parameter here', hint=hint if known else "there are none")
            elif _is_list(fields[name]):
                data[name] = (*data.get(name, ()), value)
            elif name in data:
                raise InputError("is given twice", path=name)
            else:
                data[name] = value
        try:
            query = msgspec.convert(data, self.asks, strict=False)
        except msgspec.ValidationError as error:
            problem, _, place = str(error).partition(" - at `$.")
            missing = _MISSING.fullmatch(problem)
            if missing:
                refusal = InputError("is missing", path=missing[1])
            else:
                for kind, words in _KINDS.items():
                    problem = problem.replace(f"Expected `{kind} | null`", words).replace(f"Expected `{kind}`", words)
                refusal = InputError(problem.partition(", got")[0], path=place.rstrip("`").partition("[")[0])
            raise refusal from None
        content = body if self.body is not Body.NONE else b""
        if self.of_request is None:
            return Asked(query, texts, content, compare)
        own = self.own(**{name: getattr(query, name) for name in self.own.__struct_fields__})
        request = _requested(self.of_request, query, is_complete=is_complete)
        asked = AskedRequest(own, texts, content, compare, request=request)
        if self.check is not None and is_complete:
            self.check(asked)
        return asked


def parameters_with(query: type[Query], kind: type[AnalysisRequest[Any]]) -> type[Query]:
    """Return parameters with the options of a request, which are named as those of the command line."""
    fields: list[tuple[str, Any, Any]] = []
    for each in declared(kind):
        values: Any = each.type
        option = each.option
        if option.is_file:
            continue
        if values == Sequence[str]:
            values = tuple[str, ...]
        if option.least is not None or option.most is not None:
            number = float if values is float else int
            limited: Any = Annotated[number, Meta(ge=option.least, le=option.most)]
            values = limited if values is number else limited | None
        annotation = Annotated[values, Meta(description=option.help)]
        parameter = msgspec.field(name=option.of_api or each.name, default=each.default)
        fields.append((each.name, annotation, parameter))
    made = msgspec.defstruct(f"{kind.__name__}{query.__name__}", fields, bases=(query,), frozen=True, kw_only=True)
    made.__doc__ = kind.text()
    return cast("type[Query]", made)


def _requested(kind: type[AnalysisRequest[Any]], query: Query, *, is_complete: bool) -> AnalysisRequest[Any]:
    """Return the request with the values of parameters.

    Raises InputError if they contradict one another.
    """
    request = kind(**{name: getattr(query, name) for name in kind.options() if name in query.__struct_fields__})
    try:
        if is_complete:
            request.check()
    except RequestError as error:
        names = {each.name: each.encode_name for each in msgspec.structs.fields(query)}
        raise InputError(error.named(names), path=names[error.field]) from None
    return request


def answer_request(
    cluster: LoadedCluster, asked: AskedRequest[NoParameters, AnalysisRequest[Any]], handle: AnalysisHandle
) -> Answer:
    """Answer the question that a request declares."""
    answer: Answer = asked.request.answer(asked.over(cluster, handle), handle)
    return answer


def find_request(
    cluster: LoadedCluster, asked: AskedRequest[NoParameters, AnalysisRequest[Any]], handle: AnalysisHandle
) -> None:
    """Find the objects that the question of a request is about."""
    asked.request.require_known(asked.over(cluster, handle))


def answer_of(
    run: Callable[[LoadedCluster, Any, AnalysisHandle], T],
    cluster: LoadedCluster,
    asked: Asked[Any],
    handle: AnalysisHandle,
) -> T:
    """Answer a question, or call another function about it; an error names the parameter that is wrong."""
    try:
        return run(cluster, asked, handle)
    except InputError as error:
        names = {f"--{each.encode_name}": each.encode_name for each in msgspec.structs.fields(asked.query)}
        if isinstance(asked, AskedRequest):
            # An argument has no flag, and neither have errors about no single parameter.
            names |= {each.flag: each.of_api for each in asked.request.options().values() if each.flag}
        raise renamed(error, names) from None


def answered(
    cluster: LoadedCluster,
    run: Callable[[LoadedCluster, Any, AnalysisHandle], Answer],
    asked: Asked[Any],
    handle: AnalysisHandle,
) -> bytes:
    """Answer a question, and return the answer as JSON with the fields of ``-o json``."""
    return answer_of(run, cluster, asked, handle).json_bytes()


def _is_list(field: msgspec.structs.FieldInfo) -> bool:
    found = msgspec.inspect.type_info(field.type)
    return isinstance(
        found.type if isinstance(found, msgspec.inspect.Metadata) else found, msgspec.inspect.VarTupleType
    )


# The parameters of a request, from its address or from a form.

_MOST_QUERY: Final = 16_384
_PARAMETERS_MOST_VALUES: Final = 1000


def parameters(request: "Request[Any, Any, Any]") -> list[tuple[str, str]]:
    """Return the parameters after the path of an address, in their order.

    Raises InputError if they are too long or too many, or not UTF-8.
    """
    text = request.scope["query_string"]
    if len(text) > _MOST_QUERY:
        raise InputError(f"the parameters are longer than {_MOST_QUERY:,} bytes")
    return _parsed_query(text)


async def form_values(request: "Request[Any, Any, Any]") -> list[tuple[str, str]]:
    """Return the fields of a form that was posted, in their order.

    Raises InputError if the body is no form.
    """
    return _parsed_query(await request.body())


def _parsed_query(text: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_PARAMETERS_MOST_VALUES
        )
    except ValueError:
        raise InputError("the parameters are not percent-encoded UTF-8, or too many") from None

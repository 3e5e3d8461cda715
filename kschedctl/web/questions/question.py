"""The type of a question, and the reading of its parameters from an address."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.wording import listed, similar
from kschedctl.questions.answer import Answer
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.loading import ClusterRequest
from kschedctl.web.questions.asked import OFFERED, Asked, Query

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question.

    Attributes
    ----------
    method, path : str
        The method and the path below ``/api/v1``, with the names of parameters in braces.
    run : callable
        The function that answers it in a worker process.
    asks : type of Query
        Its parameters.
    answers : tuple of type
        The types of its answers.
    body : Body
        The use of the body, which has manifests.
    what_ifs : bool
        True if changes can be tried.
    is_job : bool
        True if it takes long, so that it runs as a job.
    """

    method: Literal["GET", "POST"] = "GET"
    path: str
    run: Callable[[SchedulingCluster, Asked[Any], AnalysisHandle], Answer]
    asks: type[Query]
    answers: tuple[type[msgspec.Struct], ...]
    body: Body = Body.NONE
    what_ifs: bool = True
    is_job: bool = False

    @property
    def name(self) -> str:
        """The name of the question, such as ``explain_pod``."""
        return self.run.__name__

    @property
    def summary(self) -> str:
        """The question in one sentence."""
        return (inspect.getdoc(self.run) or "").partition("\n")[0]

    def asked(
        self,
        in_path: dict[str, str],
        values: Iterable[tuple[str, str]],
        body: bytes = b"",
        compare: tuple[ClusterRequest, ...] = (),
    ) -> Asked[Query]:
        """Read a request.

        Parameters
        ----------
        in_path : dict of str to str
            The parameters in the path.
        values : iterable of (str, str)
            The parameters after the path, in their order; a parameter may have several values.
        body : bytes
            The body.
        compare : tuple of ClusterRequest
            The snapshots that the cluster may be compared with.

        Raises
        ------
        InputError
            If there is no such parameter, or a value cannot be read.
        """
        edits = {edit.option.flag.removeprefix("--"): edit.option.name for edit in OFFERED} if self.what_ifs else {}
        fields = {each.encode_name: each for each in msgspec.structs.fields(self.asks)}
        data: dict[str, Any] = dict(in_path)
        texts: dict[str, tuple[str, ...]] = {}
        for number, (name, value) in enumerate(values):
            if number >= _MOST_VALUES:
                raise InputError(f"the request has more than {_MOST_VALUES} parameters")
            if name in edits:
                texts[edits[name]] = (*texts.get(edits[name], ()), value)
            elif name not in fields or name in in_path:
                raise _no_such_parameter(name, [*(each for each in fields if each not in in_path), *edits])
            elif _is_list(fields[name]):
                data[name] = (*data.get(name, ()), value)
            elif name in data:
                raise InputError("is given twice", path=name)
            else:
                data[name] = value
        try:
            query = msgspec.convert(data, self.asks, strict=False)
        except msgspec.ValidationError as error:
            raise _wrong_value(error) from None
        return Asked(query, texts, body if self.body is not Body.NONE else b"", compare)


def answered(
    cluster: SchedulingCluster,
    run: Callable[[SchedulingCluster, Asked[Query], AnalysisHandle], Answer],
    asked: Asked[Query],
    handle: AnalysisHandle,
) -> bytes:
    """Answer a question, and return the answer as JSON with the fields of ``-o json``."""
    return run(cluster, asked, handle).to_json()


def _is_list(field: msgspec.structs.FieldInfo) -> bool:
    found = msgspec.inspect.type_info(field.type)
    return isinstance(
        found.type if isinstance(found, msgspec.inspect.Metadata) else found, msgspec.inspect.VarTupleType
    )


def _wrong_value(error: msgspec.ValidationError) -> InputError:
    """Return the error for parameters that msgspec refuses, in plain words."""
    problem, _, place = str(error).partition(" - at `$.")
    missing = _MISSING.fullmatch(problem)
    if missing:
        return InputError("is missing", path=missing[1])
    return InputError(_wording(problem), path=place.rstrip("`").partition("[")[0])


def _wording(problem: str) -> str:
    """Return the problem of a parameter in plain words.

    Examples
    --------
    >>> _wording("Expected `int | null`, got `str`")
    'is not a whole number'
    >>> _wording("Expected `int` <= 20")
    'is not a whole number <= 20'
    """
    for kind, words in _KINDS.items():
        problem = problem.replace(f"Expected `{kind} | null`", words).replace(f"Expected `{kind}`", words)
    return problem.partition(", got")[0]


def _no_such_parameter(name: str, known: list[str]) -> InputError:
    close = similar(name, known)
    hint = f"did you mean {listed(close, 'or')}?" if close else f"the parameters are {listed(known, most=len(known))}"
    return InputError(f'"{name}" is not a parameter here', hint=hint if known else "there are none")

"""The forms of questions that take long: drain, simulation, capacity, changes for pending pods, and comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from litestar import Router

from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.web.pages.handler import page
from kschedctl.web.pages.sheet import Sheet
from kschedctl.web.pages.visit import Visit
from kschedctl.web.questions.question import Body, Question
from kschedctl.web.questions.registry import BY_NAME

#: The pages with a form: path, question and title.
_FORMS: Final = (
    ("/drain", "simulate_drain", "Drain"),
    ("/simulate", "simulate_queue", "Simulate"),
    ("/capacity", "count_copies", "Capacity"),
    ("/changes", "find_changes", "Changes for pending pods"),
    ("/compare", "compare", "Compare"),
)
_CONTROLS: Final = {"boolean": "checkbox", "integer": "number"}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form.

    Attributes
    ----------
    name : str
        The name of the parameter.
    control : str
        The type of the control: ``text``, ``number`` or ``checkbox``.
    help : str
        The description of the parameter.
    """

    name: str
    control: str
    help: str


def fields_of(question: Question) -> Iterator[Field]:
    """Yield the fields of the form of a question: its parameters, as the API documents them."""
    schema = msgspec.json.schema(question.asks)
    for name, one in schema["$defs"][question.asks.__name__]["properties"].items():
        forms: list[dict[str, Any]] = [one, *one.get("anyOf", ())]
        kind = next((each["type"] for each in forms if each.get("type", "null") != "null"), "string")
        told = next((each["description"] for each in forms if "description" in each), "")
        yield Field(name, _CONTROLS.get(kind, "text"), told)


def form_page(cluster: SchedulingCluster, visit: Visit, name: str, title: str, handle: AnalysisHandle) -> str:
    """Return the page with the form of a question."""
    question = BY_NAME[name]
    sheet = Sheet(cluster, visit, handle)
    fields = tuple(fields_of(question))
    # A mistyped address is an error, as for the question itself.
    question.asked({}, visit.own)
    return sheet.html(
        "job_form.html.j2",
        title,
        summary=question.summary,
        question=name,
        fields=fields,
        sent=dict(visit.own),
        has_manifest=question.body is not Body.NONE,
        takes_what_ifs=question.what_ifs,
    )


FORMS: Final = Router("/", route_handlers=[page(path, form_page, question, title) for path, question, title in _FORMS])

"""Text, ``-o wide``, pages and JSON of one answer have the same numbers, on every cluster in the fixtures."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import lxml.html
import pytest

from kschedctl.questions.answer import readable
from tests.cli.in_process import run
from tests.paths import ROOT

Json = dict[str, Any]
#: The texts of an answer that a row of a table has.
Rows = Iterator[tuple[str, ...]]
CLUSTERS = (
    *(f"fixtures/{name}/cluster" for name in ("devices", "gangs", "pools", "shop", "trees", "upgrade")),
    *(f"fixtures/volumes/{name}" for name in ("conflict", "repair")),
    "fixtures/pending/cluster.yaml",
)
pytestmark = pytest.mark.slow


def _pending(answer: Json) -> Rows:
    for group in answer["groups"]:
        if group["pods"] and group["result"] not in ("notCreated", "notStarted", "notRunning", "notResized"):
            yield str(len(group["pods"])), group["name"]


def _nodes(answer: Json) -> Rows:
    for node in answer["nodes"]:
        for each in (node["resources"][name] for name in ("cpu", "memory", "pods") if name in node["resources"]):
            free, allocatable = (readable(each["resource"], each[name]) for name in ("free", "allocatable"))
            yield node["name"], f"{free}/{allocatable}"


def _explain(answer: Json) -> Rows:
    for one in answer["items"]:
        yield (one["summary"],)
        if one["scores"]:
            for score in one["scores"]["nodes"]:
                for plugin in score["plugins"].values():
                    yield (str(plugin["weighted"]),)


def _capacity(answer: Json) -> Rows:
    for one in answer["items"]:
        yield one["name"], str(one["copies"]), str(len(one["nodes"]))


def _simulate(answer: Json) -> Rows:
    yield (f"{answer['placed']} of {answer['pods']} pod{'s' * (answer['pods'] != 1)} placed",)
    assert answer["placed"] == len(answer["placements"])
    # Where nothing changes, the text leaves the shares out.
    for each in answer["utilisation"] if answer["placed"] else ():
        yield each["resource"], readable(each["resource"], each["allocatable"])


def _volumes(answer: Json) -> Rows:
    for one in answer["items"]:
        yield one["claim"]["name"].rpartition("/")[2], one["claim"]["size"]


#: The arguments of a command, and the rows that its JSON asks for.
QUESTIONS: dict[str, Callable[[Json], Rows]] = {
    "pending": _pending,
    "nodes": _nodes,
    "explain -A": _explain,
    "capacity -A": _capacity,
    "simulate": _simulate,
    "volumes -A": _volumes,
}


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_forms_agree(question: str, cluster: str) -> None:
    def printed(form: str) -> str:
        done = run(*question.split(), "--snapshot", cluster, *(("-o", form) if form else ()), folder=ROOT)
        assert done.code in (0, 1) or "has no claims" in done.err, done.err
        return done.out

    if not (data := printed("json")):
        return
    answer = json.loads(data)
    text, wide, html = (printed(form) for form in ("", "wide", "html"))
    page = words(lxml.html.document_fromstring(html).body.text_content())
    summary = answer["summary"].rstrip(".")
    items = answer.get("items", ())
    summaries = {summary, *(each["summary"].rstrip(".") for each in items[:1] if len(items) == 1)}
    if question == "explain -A" and len(items) > 9:
        # So many answers are not counted before the first is printed.
        summaries.add(f"{len(items)} pods, each decided independently")
    for first in (text.split("\n", 1)[0], wide.split("\n", 1)[0]):
        assert any(each in first for each in summaries), first
    assert any(words(each) in page for each in summaries)
    lines = [words(line) for line in wide.splitlines()]
    for row in QUESTIONS[question](answer):
        # A cell that repeats the one above is empty, so that the texts of a row may be on lines of their own.
        assert all(any(words(cell) in line for line in lines) for cell in row), row
        assert all(words(cell) in page for cell in row), row

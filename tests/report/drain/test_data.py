"""What draining came to, as data."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import kschedctl.report
from kschedctl.releases.choice import choose_release
from kschedctl.report.drain.answer import drain_answer
from kschedctl.report.drain.data import Drained, schema
from kschedctl.report.envelope import Provenance
from kschedctl.report.render.json import as_json
from tests.builders import make_pod
from tests.preemption.small_clusters import budget
from tests.simulate.test_drain import drained, web

SCHEMA = Path(kschedctl.report.__file__).parent / "schema" / "drain.json"
BLOCKING = budget("pdb", "web", 0, currentHealthy=2, desiredHealthy=2)


def answer(nodes_and_simulation: tuple, not_tried: tuple[str, ...] = ()) -> Drained:  # type: ignore[type-arg]
    nodes, simulation = nodes_and_simulation
    return drain_answer(
        simulation.cluster,
        simulation,
        nodes,
        [],
        Provenance(release_choice=choose_release("1.36", "", ()), paths=("here",), n_pods=0),
        chance="the first by name is taken",
        rolling=False,
        not_tried=not_tried,
        since=0,
        finished=True,
    )


ANSWERS = {
    "all go": answer(drained([web("web-1"), make_pod("bare", node="n1")], force=True)),
    "nothing there": answer(drained([])),
    "refused": answer(drained([web("web-1"), make_pod("bare", node="n1")])),
    "blocked": answer(drained([web("web-1"), web("web-2")], BLOCKING)),
    "one of two": answer(drained([web("web-1", node="n2"), make_pod("bare", node="n1")], names=("n1", "n2"), n=3)),
    "not come to": answer(drained([make_pod("bare", node="n1")], rolling=True), ("n2",)),
}


def test_schema_file_is_made_from_the_types(request: pytest.FixtureRequest) -> None:
    text = json.dumps(schema(), indent=2) + "\n"
    if request.config.getoption("--rewrite-golden"):
        SCHEMA.write_text(text)
    assert SCHEMA.read_text() == text


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_are_valid_by_the_schema(case: str) -> None:
    jsonschema.validate(json.loads(as_json(ANSWERS[case])), schema(), cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    ("case", "summary"),
    [
        ("all go", "n1 can be drained: 2 pods move"),
        ("nothing there", "n1 can be drained: no pod has to move"),
        (
            "refused",
            "n1 cannot be drained: cannot delete Pods that declare no controller (use --force to override)",
        ),
        ("blocked", "n1 cannot be drained: default/web-1 may not be evicted, and 1 more"),
        (
            "one of two",
            "n2 can be drained: 1 pod moves; n1 cannot: cannot delete Pods that declare no controller "
            "(use --force to override)",
        ),
        (
            "not come to",
            "n1 cannot be drained: cannot delete Pods that declare no controller (use --force to override); "
            "the drain does not come to 1 node more",
        ),
    ],
)
def test_what_is_said(case: str, summary: str) -> None:
    assert ANSWERS[case].summary == summary


def test_each_pod_is_told_with_what_is_made_in_its_place() -> None:
    (node,) = ANSWERS["all go"].nodes
    assert [(pod.pod, pod.made_again, pod.node) for pod in node.moved] == [
        ("default/bare", "", ""),
        ("default/web-1", "default/web-xxxxx", "n2"),
    ]
    assert ANSWERS["all go"].names() == ("pod/default/bare", "pod/default/web-1 node/n2")

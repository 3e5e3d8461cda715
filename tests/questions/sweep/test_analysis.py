"""The table of a sweep, as data, in every form, and the columns of the cluster, worked out by hand."""

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.output.forms import FormKind, Medium, parse_form
from kschedctl.questions.frame import View
from kschedctl.questions.sweep.analysis import front, sweep_answer
from kschedctl.questions.sweep.answer import Aim, Ask, Sweep, cell
from kschedctl.questions.sweep.cases import plan_of
from kschedctl.questions.sweep.document import document
from kschedctl.questions.sweep.job import Row
from kschedctl.questions.sweep.measurements import OF_CLUSTER, OWN, CaseResult, check_column, default_columns, measure
from tests.builders import make_cluster, make_node, make_pod
from tests.questions.printing import lines

PLAN = b"""
apiVersion: kschedctl/v1
kind: Sweep
base: {snapshot: here}
axes:
  fail-zone: [null, a, b]
  case: {of: args.NodeResourcesFit.ignoredResources, values: [[example.com/x], []]}
measure: [utilisation.cpu]
goals: {placed: maximise, nodesUsed: minimise}
"""
READ = plan_of(PLAN, "plan.yaml")


def row(number: int, placed: int | None, used: int, cpu: float | None = 0.5, **fields: Any) -> Row:
    values = {"utilisation.cpu": cpu, "placed": placed, "nodesUsed": used}
    return Row(case=number, axes=READ.cases[number], values=values, **fields)


ROWS = [
    row(1, 5, 3),
    row(2, 4, 3, cpu=None),
    row(3, 2, 1, doubts=("pods were not listed",), warnings=("a field is not read",)),
    Row(case=4, axes=READ.cases[4], error="no zone a\n  the zones are c"),
    row(5, None, 2),
]


def answer(rows: list[Row] = ROWS, *, finished: bool = True) -> Sweep:
    return sweep_answer(READ, {each.case: each for each in rows}, finished=finished)


@pytest.mark.parametrize(
    ("found", "summary", "cases"),
    [
        (answer(), "5 of 6 cases; 1 failed, 2 on the Pareto front", [1, 2, 3, 4, 5]),
        (answer().front, "5 of 6 cases; 1 failed, 2 on the Pareto front", [1, 3]),
        (answer(ROWS[:1], finished=False), "interrupted: 1 of 6 cases; 1 on the Pareto front so far", [1]),
    ],
)
def test_what_is_said(found: Sweep, summary: str, cases: list[int]) -> None:
    assert (found.summary, [case.case for case in found.cases]) == (summary, cases)
    assert found.names() == tuple(f"case/{number}" for number in cases)
    assert found.complete == (3 not in cases)


def test_the_table_has_a_cell_for_every_heading() -> None:
    headings = ("case", "fail-zone", "axis.case", "utilisation.cpu", "placed", "nodesUsed", "front", "error")
    assert answer().headings() == headings
    table = list(answer().table())
    assert {len(each) for each in table} == {len(headings)}
    assert table[0] == (1, None, '["example.com/x"]', 0.5, 5, 3, True, "")
    assert table[3] == (4, "a", "[]", None, None, None, False, "no zone a\n  the zones are c")


def test_the_text_tells_what_failed_and_what_is_in_doubt() -> None:
    printed = lines(document(answer(), View()), width=120)
    assert '     1  -          ["example.com/x"]           50.0 %       5          3  *' in printed
    assert "     2  -          []                               -       4          3" in printed
    assert printed[-4:-2] == ["warning: pods were not listed (in 1 case)", "warning: a field is not read (in 1 case)"]
    assert "      1  4        no zone a" in printed
    assert printed[-1] == "Scheduler configuration of case 1: kschedctl sweep --config-of 1"


def test_of_many_rows_a_few_are_shown_those_of_the_front_first() -> None:
    plan = plan_of(PLAN.replace(b"fail-zone: [null, a, b]", b"seed: {values: {from: 1, to: 40}}"), "plan.yaml")
    rows = {n: Row(case=n, axes=plan.cases[n], values={"placed": n, "nodesUsed": 1}) for n in range(1, 81)}
    found = sweep_answer(plan, rows, finished=True)
    short = [line.split()[0] for line in lines(document(found, View()), width=120) if line.endswith("*")]
    assert short == ["80"]
    assert lines(document(found, View()), width=120)[-3] == "  and 55 more cases: -o wide, -o csv"
    assert len(lines(document(found, View(wide=True)), width=120)) > 80


@pytest.mark.parametrize(("value", "expected"), [(None, None), (1, 1), (True, True), ({"a": [1]}, '{"a":[1]}')])
def test_cells(value: Any, expected: Any) -> None:
    assert cell(value) == expected


def test_json_lines_and_csv_have_the_same_table() -> None:
    medium = Medium(lambda: Console(file=io.StringIO()), lambda question: question.text)

    def rendered(form: str) -> list[Any]:
        return list(parse_form(form, FormKind.TABLE).render(answer(), View(), medium))

    of_csv = list(csv.reader(io.StringIO("".join(rendered("csv")))))
    of_json = [json.loads(line) for line in rendered("jsonl")]
    assert of_csv[0] == list(of_json[0]) == list(answer().headings())
    table = [list(each.values()) for each in of_json]
    assert table == [list(each) for each in answer().table()]
    assert [[shown(each) for each in one] for one in table] == of_csv[1:]


def shown(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


GOALS = {"a": Aim.MAXIMISE, "b": Aim.MINIMISE, "c": Aim.MAXIMISE}
NUMBERS = st.one_of(st.none(), st.integers(0, 4), st.sampled_from([0.5, 1.5]))


def dominates(one: Row, other: Row, goals: dict[str, Aim]) -> bool:
    """At least as good in every goal, and better in one."""
    pairs = [(one.values[goal], other.values[goal], aim) for goal, aim in goals.items()]
    signed = [(a, b) if aim is Aim.MAXIMISE else (b, a) for a, b, aim in pairs]
    return all(a >= b for a, b in signed) and any(a > b for a, b in signed)  # type: ignore[operator]


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=12), st.integers(1, 3))
def test_the_front_is_what_nothing_dominates(points: list[tuple[float | None, ...]], n_goals: int) -> None:
    goals = dict(list(GOALS.items())[:n_goals])
    rows = [Row(case=i, axes={}, values=dict(zip("abc", point, strict=True))) for i, point in enumerate(points, 1)]
    measured = [row for row in rows if all(row.values[goal] is not None for goal in goals)]
    expected = {row.case for row in measured if not any(dominates(other, row, goals) for other in measured)}
    assert front(rows, goals) == expected


def test_cases_that_failed_are_not_on_the_front() -> None:
    rows = [Row(case=1, axes={}, error="no"), Row(case=2, axes={}, values={"a": 1})]
    assert front(rows, {"a": Aim.MAXIMISE}) == {2}
    assert front(rows, {}) == frozenset()


def of(kind: str, owner: str, name: str, node: str, cpu: str = "1") -> Pod:
    return make_pod(name, node=node, requests={"cpu": cpu}, owner=("apps/v1", kind, owner))


NODES = [
    make_node("a1", cpu="4", zone="a", labels={"rack": "r1"}),
    make_node("a2", cpu="8", zone="a", labels={"rack": "r2"}),
    make_node("b1", cpu="4", zone="b"),
    make_node("c1", cpu="0", zone="c"),
]
PODS = [
    of("ReplicaSet", "web", "web-1", "a1"),
    of("ReplicaSet", "web", "web-2", "a1"),
    of("ReplicaSet", "web", "web-3", "a2"),
    of("ReplicaSet", "db", "db-1", "b1"),
    of("DaemonSet", "agent", "agent-1", "a1"),
    of("DaemonSet", "agent", "agent-2", "c1", "0"),
]


def numbers(cluster: Cluster, columns: Iterable[str], pods: Iterable[Pod] = PODS) -> dict[str, float | None]:
    asked = tuple(pod.metadata for pod in pods)
    return measure(CaseResult(cluster=cluster, release=LATEST, own={}, pods=asked), columns)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("nodes", 4),
        # c1 has a pod of a DaemonSet alone.
        ("nodesUsed", 3),
        # 5 of 16 cpu.
        ("utilisation.cpu", 0.3125),
        # 3 of 4, 1 of 8 and 1 of 4; c1 offers none.
        ("utilisation.cpu.max", 0.75),
        ("utilisation.cpu.min", 0.125),
        ("utilisation.cpu.mean", 0.375),
        # Of 0.375, -0.25 and -0.125 from the mean: the root of (0.140625 + 0.0625 + 0.015625) / 3.
        ("utilisation.cpu.stdev", 0.270031),
        ("utilisation.memory", 0.0),
        ("utilisation.example.com/gpu", None),
        ("utilisation.example.com/gpu.max", None),
        # web: 3 in zone a and none in b and c; db: 1 in b.
        ("skew.zone", 3),
        ("skew.topology.kubernetes.io/zone", 3),
        # web: 2 on a1.
        ("skew.hostname", 2),
        # web: 2 and 1; db: none in either.
        ("skew.rack", 1),
        ("skew.nothing", None),
    ],
)
def test_columns(column: str, expected: float | None) -> None:
    assert numbers(make_cluster(NODES, PODS), [column]) == {column: expected}


def test_only_workloads_whose_pods_were_to_be_placed_are_looked_at() -> None:
    assert numbers(make_cluster(NODES, PODS), ["skew.zone"], PODS[3:4]) == {"skew.zone": 1}
    assert numbers(make_cluster(NODES, PODS), ["skew.zone"], PODS[4:]) == {"skew.zone": None}


def test_an_empty_cluster_has_nothing_to_measure() -> None:
    columns = ["nodes", "nodesUsed", "utilisation.cpu", "utilisation.cpu.max", "skew.zone"]
    assert list(numbers(make_cluster(), columns).values()) == [0, 0, None, None, None]


@pytest.mark.parametrize("ask", Ask)
def test_what_is_measured_by_default_can_be(ask: Ask) -> None:
    for column in (*default_columns(ask), *OWN[ask], *OF_CLUSTER):
        check_column(column, ask)


@pytest.mark.parametrize("column", ["utilisation", "utilisation.", "skew.", "", "Placed", "copies"])
def test_what_cannot_be(column: str) -> None:
    with pytest.raises(InputError, match="is not a column"):
        check_column(column, Ask.SIMULATE)

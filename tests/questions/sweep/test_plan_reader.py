"""Plans: what is read, and what is refused, with line and column."""

from __future__ import annotations

import pytest

from kschedctl.common.errors import PlanError
from kschedctl.questions.answers.sweep import Ask
from kschedctl.questions.sweep.plan_reader import plan_of, read_plan

PLAN = """\
apiVersion: kschedctl/v1
kind: Sweep
base:
  snapshot: here
axes:
  seed: [1, 2]
"""


def test_the_shortest_plan_asks_for_the_waiting_pods() -> None:
    read = plan_of(PLAN.encode(), "plan.yaml")
    assert read.plan.ask is Ask.SIMULATE
    assert len(read.cases) == 2
    assert read.columns == ("placed", "waiting", "evicted", "nodesUsed", "utilisation.cpu", "utilisation.memory")


def test_goals_are_columns_too() -> None:
    read = plan_of(f"{PLAN}measure: [placed]\ngoals: {{skew.zone: minimise, placed: maximise}}\n".encode(), "")
    assert read.columns == ("placed", "skew.zone")


@pytest.mark.parametrize(
    ("old", "new", "at", "field", "problem"),
    [
        ("kind: Sweep", "kind: Swoop", "2:7", "kind", "invalid enum value 'Swoop'"),
        ("  snapshot: here", "  snapshots: here", "4:3", "base.snapshots", '"snapshots" is not a field here'),
        ("  snapshot: here", "  kubernetesVersion: 1.36", "4:22", "base.kubernetesVersion", "expected `str`"),
        ("  snapshot: here", "  namespace: shop", "4:3", "base", "has no snapshot"),
        ("  seed: [1, 2]", "  sead: [1, 2]", "6:9", "axes[sead]", '"sead" is not a parameter of an axis'),
        ("  seed: [1, 2]", "  seed: [1, x]", "6:13", "axes[seed][1]", "'x' is not a whole number"),
        ("  seed: [1, 2]", "  seed: [1]\n  seed: [2]", "7:3", "", 'key "seed" occurs twice'),
        ("axes:\n  seed: [1, 2]", "axes: {}", "5:7", "axes", "there are no axes"),
        ("kind", "measure: [plased]\nkind", "2:11", "measure[0]", '"plased" is not a column'),
        ("kind", "measure: [score]\nkind", "2:11", "measure[0]", '"score" is not a column'),
        ("kind", "goals: {placed: most}\nkind", "2:17", "goals[placed]", "invalid enum value 'most'"),
        ("kind", "ask: drain\nkind", "2:6", "ask", "drain needs a subject"),
        ("kind", "of: shop/web\nkind", "2:5", "of", "simulate schedules all pending pods"),
        ("kind", "combine: {random: 9}\nkind", "2:19", "combine.random", "9 of 2 combinations cannot be sampled"),
        (
            "  snapshot: here",
            "  snapshot: here\n  whatIf: {fail-zon: a}",
            "5:22",
            "base.whatIf[fail-zon]",
            "is not a what-if",
        ),
        (PLAN, "[]", "1:1", "", "expected `object`, got `array`"),
        ("  seed: [1, 2]", "  s: {valeus: [1]}", "6:7", "axes[s].valeus", "did you mean values?"),
        ("  seed: [1, 2]", "  s: {values: {form: 1}}", "6:16", "axes[s].values.form", "did you mean from?"),
        (PLAN, "a: [", ", document 1", "", "plan.yaml"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) and len(value) < 40 else "",
)
def test_refused(old: str, new: str, at: str, field: str, problem: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan_of(PLAN.replace(old, new, 1).encode(), "plan.yaml")
    (finding,) = caught.value.findings
    assert problem in str(caught.value)
    assert finding.field == field
    shown = str(finding.place).removeprefix("plan.yaml").removeprefix(":") or (
        f"{finding.position.line}:{finding.position.column}" if finding.position is not None and at else ""
    )
    assert shown == at


def test_everything_that_is_wrong_is_told_at_once() -> None:
    wrong = f"{PLAN}  fail-zones: [a]\nmeasure: [plased, skew.]\n"
    with pytest.raises(PlanError) as caught:
        plan_of(wrong.encode(), "plan.yaml")
    assert [finding.field for finding in caught.value.findings] == ["axes[fail-zones]", "measure[0]", "measure[1]"]


def test_a_plan_that_is_not_there() -> None:
    with pytest.raises(PlanError, match=r"nowhere.yaml: cannot be read: No such file"):
        read_plan("nowhere.yaml")


def test_thousands_of_mistakes_are_told_at_once() -> None:
    wrong = f"{PLAN}measure: [{', '.join(['sx'] * 5000)}]\n"
    with pytest.raises(PlanError) as caught:
        plan_of(wrong.encode(), "plan.yaml")
    assert len(caught.value.findings) == 5000
    assert caught.value.lines()[-1] == "and 4,950 more"

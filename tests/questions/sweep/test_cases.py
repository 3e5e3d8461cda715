"""Axes and their values, and cases: which values come together."""

from copy import deepcopy
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import ConfigError, InputError, PlanError
from kschedctl.objects.releases.release import LATEST
from kschedctl.questions.sweep.answer import Ask
from kschedctl.questions.sweep.cases import Cases, configured, plan_of, read_plan
from kschedctl.questions.sweep.plan import EDITS_BY_NAME, Axis, AxisPlan, NumberRange, Random, read_axis
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.config.profile import Profile
from kschedctl.scheduler.framework.config.types import NodeResourcesFitArgs
from kschedctl.scheduler.plugins.registry import in_tree_registry
from kschedctl.trials.whatif.edits import EDITS
from tests.builders import make_profile


def axes(*lengths: int) -> list[Axis]:
    return [Axis(f"x{i}", "seed", tuple(range(length))) for i, length in enumerate(lengths)]


def every(cases: Cases) -> list[tuple[Any, ...]]:
    return [tuple(cases[number].values()) for number in range(1, len(cases) + 1)]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_a_product_has_every_value_with_every_other(lengths: list[int]) -> None:
    cases = Cases(axes(*lengths), "product")
    assert every(cases) == list(product(*map(range, lengths)))
    assert list(cases[1]) == [f"x{i}" for i in range(len(lengths))]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 9), st.data())
def test_random_ones_are_different_ones_of_the_product_in_its_order(
    lengths: list[int], seed: int, data: st.DataObject
) -> None:
    whole = list(product(*map(range, lengths)))
    n_drawn = data.draw(st.integers(1, len(whole)))
    drawn = every(Cases(axes(*lengths), Random(random=n_drawn, seed=seed)))
    assert len(drawn) == n_drawn
    assert [case for case in whole if case in drawn] == drawn
    assert drawn == every(Cases(axes(*lengths), Random(random=n_drawn, seed=seed)))


def test_another_seed_draws_others() -> None:
    drawn = [tuple(every(Cases(axes(100, 100), Random(random=10, seed=seed)))) for seed in range(5)]
    assert len(set(drawn)) == 5


def test_zip_takes_the_first_ones_then_the_second_ones() -> None:
    assert every(Cases(axes(3, 3), "zip")) == [(0, 0), (1, 1), (2, 2)]


def test_many_are_not_made_before_they_are_asked_for() -> None:
    cases = Cases(axes(10**5, 10**5, 10**5), Random(random=3))
    assert len(cases) == len(set(every(cases))) == 3


@pytest.mark.parametrize(
    ("lengths", "combine", "path", "problem"),
    [
        ((2, 3), "zip", "combine", "zip needs axes of the same length: x0 has 2, x1 has 3"),
        ((2, 3), Random(random=7), "combine.random", "7 of 6 combinations cannot be sampled"),
        ((1001, 1000), "product", "axes", "1,001,000 cases are too many"),
    ],
)
def test_refused(lengths: tuple[int, ...], combine: Any, path: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        Cases(axes(*lengths), combine)
    (finding,) = caught.value.findings
    assert (finding.problem, finding.field) == (problem, path)


@pytest.mark.parametrize("number", [0, 7, -1])
def test_there_is_no_other_case(number: int) -> None:
    with pytest.raises(IndexError):
        Cases(axes(2, 3), "product")[number]


FIT = "NodeResourcesFit"
TAINTS = "TaintToleration"
PLAIN = make_profile()
SCORE = "score"


def profiles(config: dict[str, Any]) -> list[Profile]:
    points = in_tree_registry().extension_points(LATEST)
    return list(load_configuration(config, release=LATEST, implements=points).profiles.values())


DEFAULT = dict(profiles(PLAIN)[0].weights)


def with_score(**plugins: Any) -> dict[str, Any]:
    return make_profile(plugins={SCORE: plugins})


@pytest.mark.parametrize(
    ("config", "weights", "expected"),
    [
        (None, {FIT: 7}, DEFAULT | {FIT: 7}),
        (PLAIN, {FIT: 7, TAINTS: 1}, DEFAULT | {FIT: 7, TAINTS: 1}),
        (PLAIN, {FIT: 0}, {name: weight for name, weight in DEFAULT.items() if name != FIT}),
        (with_score(enabled=[{"name": FIT, "weight": 3}]), {FIT: 7}, DEFAULT | {FIT: 7}),
        (with_score(disabled=[{"name": FIT}]), {FIT: 7}, DEFAULT | {FIT: 7}),
        (with_score(disabled=[{"name": "*"}]), {FIT: 7}, {FIT: 7}),
        (make_profile(plugins={"multiPoint": {"enabled": [{"name": FIT, "weight": 3}]}}), {FIT: 7}, DEFAULT | {FIT: 7}),
        (with_score(enabled=[{"name": FIT, "weight": 3}]), {TAINTS: 9}, DEFAULT | {FIT: 3, TAINTS: 9}),
    ],
)
def test_weights(config: dict[str, Any] | None, weights: dict[str, int], expected: dict[str, int]) -> None:
    before = deepcopy(config)
    (profile,) = profiles(configured(config, weights, {}))
    assert dict(profile.weights) == expected
    assert config == before


def test_arguments_are_set_beside_those_that_are_there() -> None:
    given = make_profile(pluginConfig=[{"name": FIT, "args": {"ignoredResources": ["example.com/x"]}}])
    (profile,) = profiles(configured(given, {}, {FIT: {"scoringStrategy.type": "MostAllocated"}}))
    args = profile.args[FIT]
    assert isinstance(args, NodeResourcesFitArgs)
    assert (args.ignored_resources, args.scoring_strategy.type) == (("example.com/x",), "MostAllocated")
    assert [resource.name for resource in args.scoring_strategy.resources] == ["cpu", "memory"]


def test_all_profiles_change() -> None:
    two = {**PLAIN, "profiles": [{"schedulerName": "one"}, {"schedulerName": "two"}]}
    found = profiles(configured(two, {FIT: 7}, {FIT: {"scoringStrategy.type": "MostAllocated"}}))
    assert [(p.scheduler_name, p.weights[FIT], p.args[FIT].scoring_strategy.type) for p in found] == [  # type: ignore[attr-defined]
        ("one", 7, "MostAllocated"),
        ("two", 7, "MostAllocated"),
    ]


def test_nothing_changes_without_changes() -> None:
    assert configured(PLAIN, {}, {}) == PLAIN


@pytest.mark.parametrize("config", [{"profiles": {}, "x": 1}, {"profiles": ["x"]}, {"profiles": [{"plugins": []}]}])
def test_case_configuration_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configured(config, {FIT: 1}, {})


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
def test_plan_reader_refused(old: str, new: str, at: str, field: str, problem: str) -> None:
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


def span(first: float, to: float, step: float = 1) -> NumberRange:
    return NumberRange(first=first, to=to, step=step)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (span(1, 3), (1, 2, 3)),
        (span(1, 6, 2), (1, 3, 5)),
        (span(3, 1, -1), (3, 2, 1)),
        (span(0.1, 0.35, 0.1), (0.1, 0.2, 0.3)),
        (span(1, 2, 0.5), (1.0, 1.5, 2.0)),
        (span(2, 2), (2,)),
    ],
    ids=str,
)
def test_ranges(values: NumberRange, expected: tuple[float, ...]) -> None:
    found = read_axis("seed" if isinstance(expected[0], int) else "args.NodeResourcesFit.x", AxisPlan(values=values))
    assert found.values == expected
    assert [type(value) for value in found.values] == [type(value) for value in expected]


def test_a_value_is_put_into_its_place_and_a_list_is_several() -> None:
    axis = read_axis("n", AxisPlan(of="set-replicas", value="deploy/shop/web={}", values=(None, 3, (4, 5))))
    assert [axis.texts(value) for value in axis.values] == [
        (),
        ("deploy/shop/web=3",),
        ("deploy/shop/web=4", "deploy/shop/web=5"),
    ]


def test_every_what_if_of_the_command_line_is_an_axis() -> None:
    assert [f"--{name}" for name in EDITS_BY_NAME] == [edit.option.flag for edit in EDITS]


@pytest.mark.parametrize(
    ("ask", "name", "value", "problem"),
    [
        (Ask.DRAIN, "surge", 1000, None),
        (Ask.DRAIN, "surge", 1001, "1001 is more than 1000"),
        (Ask.DRAIN, "surge", -1, "-1 is less than 0"),
        (Ask.DRAIN, "surge", "two", "'two' is not a whole number"),
        (Ask.DRAIN, "force", True, None),
        (Ask.DRAIN, "force", "yes", "'yes' is neither true nor false"),
        (Ask.CAPACITY, "max", 5, None),
        (Ask.CAPACITY, "max", True, "True is not a whole number"),
        # The options of another question are no parameters.
        (Ask.SIMULATE, "surge", 1, '"surge" is not a parameter of an axis'),
    ],
)
def test_options_of_the_question_are_axes(ask: Ask, name: str, value: object, problem: str | None) -> None:
    if problem is None:
        assert read_axis(name, (value,), ask).values == (value,)
        return
    with pytest.raises(InputError, match=problem):
        read_axis(name, (value,), ask)


@pytest.mark.parametrize(
    ("name", "axis", "path", "problem"),
    [
        ("seed", (), "", "has no values"),
        ("seed", AxisPlan(values=()), "values", "has no values"),
        ("seed", AxisPlan(values=span(2, 1)), "values", "has no values"),
        ("seed", AxisPlan(values=span(1, 2, 0)), "values.step", "is not a step from the first number to the last"),
        ("seed", AxisPlan(values=span(0, 1e6)), "values", "1,000,001 values are too many"),
        ("fail-zones", ("a",), "", '"fail-zones" is not a parameter of an axis'),
        ("x", AxisPlan(of="weight", values=(1,)), "of", '"weight" is not a parameter of an axis'),
        ("x", AxisPlan(of="args.NodeResourcesFit", values=(1,)), "of", "not a parameter of an axis"),
        ("weight.NodeResourceFit", (1,), "", "there is no plugin NodeResourceFit"),
        ("weight.ImageLocality", (1, -1), "[1]", "-1 is not a weight"),
        ("weight.ImageLocality", (1.5,), "[0]", "1.5 is not a weight"),
        ("set-request", ("cpu=1", "cpu"), "[1]", '"cpu" lacks a resource or a quantity'),
        ("apply", ("-",), "[0]", "a plan cannot read from standard input"),
        (
            "n",
            AxisPlan(of="set-replicas", value="deploy/web=3", values=(1,)),
            "value",
            "does not contain {}, the place of the value",
        ),
        ("kubernetes-version", (1.36,), "[0]", "1.36 is not text"),
        ("feature-gates", ("A=perhaps",), "[0]", '"A=perhaps" is not NAME=true or NAME=false'),
        ("seed", ("one",), "[0]", "'one' is not a whole number"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_refused_axes(name: str, axis: Any, path: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_axis(name, axis)
    (finding,) = caught.value.findings
    assert problem in finding.problem
    assert finding.field == path

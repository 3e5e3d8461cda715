from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.records import PENDING
from kschedctl.cluster.slots import MovedPods
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.core import Service
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import OF_NODE, OF_NOTHING, Dependencies, Reach
from kschedctl.scheduler.framework.explanation import Arithmetic, FilterCheck, Step
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    PlacedCopies,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    ScorePlugin,
)
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Reason, Rejections, Status
from kschedctl.scheduler.plugins.registry import IN_TREE_PLUGINS
from kschedctl.testing.contract import CLAUSES, check_plugin, plugin_checks
from kschedctl.testing.plugin_checks import work_out
from kschedctl.testing.probe import ask
from kschedctl.testing.samples import SAMPLES, WORLD, SampleChange
from tests.scheduler.framework.plugins import make_plugin

Method = Callable[..., Any]


def filter_by(judge: Method, **fields: Any) -> type[Plugin]:
    """Return a Filter plugin that rejects the masked nodes."""

    def filter_(self: Plugin, state: object, pod: object, nodes: Any) -> Rejections:
        return Rejections.where(np.array(judge(self, nodes), dtype=np.bool_), Code.UNSCHEDULABLE, "no")

    return make_plugin("Sample", FilterPlugin, filter=filter_, **fields)


def score_by(score: Method, **methods: Any) -> type[Plugin]:
    """Return a Score plugin."""
    return make_plugin("Sample", ScorePlugin, score=lambda self, state, pod, rows: score(self, rows), **methods)


def used(plugin: Plugin, nodes: Any) -> Any:
    """Return the number of pods on each node, changes included."""
    columns = plugin.handle.cluster.resources(plugin.handle.request_rules)
    at = columns.index["pods"]
    return columns.requested[at][nodes.rows] + nodes.delta("pods", columns.per_class[at])


class Unchanged(PlacedCopies):
    """Copies that change nothing."""

    def __init__(self, cluster: Cluster) -> None:
        self.rejected = np.zeros(len(cluster.nodes), dtype=np.bool_)

    def place(self, row: int) -> None:
        pass

    def follow(self, cluster: Cluster, moved: MovedPods) -> bool:
        return True


def n_assigned() -> int:
    """Return the number of pods on the nodes of the sample."""
    return len(WORLD.cluster().pods.assigned)


def calls(plugin: Any) -> int:
    plugin.calls = getattr(plugin, "calls", 0) + 1
    return int(plugin.calls)


def first_row(plugin: Plugin, nodes: Any) -> Any:
    return nodes.rows == 0


def alone(plugin: Plugin, nodes: Any) -> list[bool]:
    return [len(nodes) == 1] * len(nodes)


def snapshot_only(plugin: Plugin, nodes: Any) -> Any:
    return plugin.handle.cluster.resources(plugin.handle.request_rules).requested[3][nodes.rows] > 1


def busiest(plugin: Plugin, nodes: Any) -> Any:
    counts = plugin.handle.cluster.resources(plugin.handle.request_rules).requested[3]
    return counts[nodes.rows] == counts.max()


class Counting(PreFilterPlugin, FilterPlugin):
    """A plugin with an undeclared dependency: it counts pods before any node is evaluated."""

    name = "Sample"
    prepares_from = OF_NOTHING

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        state.write(self.handle.cluster.resources(self.handle.request_rules).requested[3])
        return PreFilterResult()

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        counts = state.read(np.ndarray)
        assert counts is not None
        return Rejections.where(counts[nodes.rows] > 0, Code.UNSCHEDULABLE, "no")


class Named(ScorePlugin):
    """A plugin with an undeclared dependency: it scores by the pod's name."""

    name = "Sample"
    reads = OF_NOTHING

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        return rows * 0 + len(pod.name)


def spoiled(plugin: Plugin, nodes: Any) -> Any:
    plugin.handle.cluster.pods.class_id[:1] += 0 if calls(plugin) > 1 else 1
    return nodes.rows < 0


def shifted(self: Plugin, state: object, pod: object, scores: Any) -> Any:
    scores += 1
    return scores


class Speechless(Operands, frozen=True):
    """Nothing is said."""

    def words(self) -> str:
        return ""


class Undocumented(Operands, frozen=True):
    """The node is full."""

    free: int = 0


class Forgetful(Operands, frozen=True):
    """The node is full.

    Attributes
    ----------
    free : object
        The free capacity.
    """

    free: object = (1, 2)

    def words(self) -> str:
        return "free is little"


class Wrong(Arithmetic, frozen=True):
    """An arithmetic whose steps do not match the score."""

    expression: str

    def formula(self) -> str:
        return "a hundred"

    def steps(self) -> Iterator[Step]:
        yield Step("score", self.expression, 100)


def telling(expression: str, score: int = 100) -> type[Plugin]:
    """Return a Score plugin that explains a score of 100."""
    told = {"explain_score": lambda self, state, pod, row: Wrong(expression)}
    return score_by(lambda plugin, rows: rows * 0 + score, **told)


def because(operands: Any) -> type[Plugin]:
    """Return a Filter plugin that rejects every node with these operands."""

    def filter_(self: Plugin, state: object, pod: object, nodes: Any) -> Rejections:
        every = np.ones(len(nodes), dtype=np.bool_)
        return Rejections.where(every, Code.UNSCHEDULABLE, "no", lambda _: (Reason("no", operands),))

    return make_plugin("Sample", FilterPlugin, filter=filter_)


def reasonless(self: Plugin, state: object, pod: object, nodes: Any) -> Rejections:
    return Rejections.everywhere(len(nodes), Status(Code.UNSCHEDULABLE))


def waiting(self: Plugin, state: object, pod: object, nodes: Any) -> Rejections:
    return Rejections.everywhere(len(nodes), Status(Code.WAIT, ("later",)))


def short(self: Plugin, state: object, pod: object, nodes: Any) -> Rejections:
    return Rejections.everywhere(1, Status(Code.UNSCHEDULABLE, ("no",)))


def all_alike(self: Plugin, state: object, pod: object, nodes: Any) -> Rejections:
    code = np.full(len(nodes), Code.UNSCHEDULABLE, dtype=np.int8)
    reason = np.zeros(len(nodes), dtype=np.int64)
    return Rejections(code, reason, lambda _: ("no",), lambda i: (Reason("no", Forgetful(i)),), lambda: reason)


def test_an_honest_plugin_keeps_it() -> None:
    check_plugin(filter_by(lambda plugin, nodes: used(plugin, nodes) > 1))
    check_plugin(score_by(lambda plugin, rows: rows * 0 + 100))


@pytest.mark.parametrize(
    ("plugin", "clause", "text"),
    [
        pytest.param(
            make_plugin("Sample", Plugin), "takes_part_somewhere", "implements no extension point", id="no part"
        ),
        pytest.param(
            make_plugin("Sample", FilterPlugin, filter=reasonless),
            "filter_answers_for_every_world",
            "rejects a node without a reason",
            id="no reason",
        ),
        pytest.param(
            make_plugin("Sample", FilterPlugin, filter=waiting),
            "filter_answers_for_every_world",
            "filter returns Wait",
            id="a wrong code",
        ),
        pytest.param(
            make_plugin("Sample", FilterPlugin, filter=short),
            "filter_answers_for_every_world",
            r"has the shape \(1,\), not \(6,\)",
            id="too few verdicts",
        ),
        pytest.param(
            make_plugin("Sample", FilterPlugin, filter=all_alike),
            "filter_answers_for_every_world",
            "nodes that are alike differ in reasons",
            id="nodes that are not alike",
        ),
        pytest.param(
            because({"free": 0}),
            "operands_have_words_and_can_be_kept",
            "operands are a dict, not a struct derived from Operands",
            id="operands without a type",
        ),
        pytest.param(
            because(Speechless()), "operands_have_words_and_can_be_kept", "Speechless has no text", id="no words"
        ),
        pytest.param(
            because(Undocumented()),
            "operands_have_words_and_can_be_kept",
            "the docstring of Undocumented does not document free",
            id="no unit",
        ),
        pytest.param(
            because(Forgetful()),
            "operands_have_words_and_can_be_kept",
            r"Forgetful is decoded from JSON as Forgetful\(free=\[1, 2\]\)",
            id="operands that change when kept",
        ),
        pytest.param(
            because(Forgetful(object())),
            "operands_have_words_and_can_be_kept",
            "Forgetful cannot be encoded as JSON",
            id="operands that cannot be kept",
        ),
        pytest.param(
            score_by(lambda plugin, rows: rows / 2),
            "score_answers_for_every_row",
            "score is of float64, not int64",
            id="fractions",
        ),
        pytest.param(
            score_by(lambda plugin, rows: rows.tolist()),
            "score_answers_for_every_row",
            "score is a list, not an array",
            id="no array",
        ),
        pytest.param(
            score_by(lambda plugin, rows: rows + 99), "score_answers_for_every_row", "0 to 100, not 101", id="too high"
        ),
        pytest.param(
            score_by(lambda plugin, rows: rows + 1, normalize_score=shifted),
            "score_answers_for_every_row",
            "changes its input array",
            id="raw scores changed",
        ),
        pytest.param(
            filter_by(lambda plugin, nodes: [calls(plugin) == 1] * len(nodes)),
            "answers_the_same_again",
            "a second call returns another result",
            id="a memory",
        ),
        pytest.param(
            telling("2 * 49"),
            "score_arithmetic_is_that_of_the_score",
            r"Wrong: score = 2 \* 49 is 98, not 100",
            id="a step that is something else",
        ),
        pytest.param(
            telling("2 * 50", score=99),
            "score_arithmetic_is_that_of_the_score",
            "the last step is 100, but the plugin returned 99",
            id="the arithmetic of another score",
        ),
        pytest.param(
            telling("2 * half"),
            "score_arithmetic_is_that_of_the_score",
            "no earlier step is named half",
            id="an unknown name",
        ),
        pytest.param(
            filter_by(first_row, explain_filter=lambda *_: (FilterCheck("a row", "another", holds=True),)),
            "filter_checks_are_those_of_the_filter",
            "n0: is rejected, but these checks do not hold",
            id="a filter that tells of something else",
        ),
        pytest.param(filter_by(spoiled), "leaves_its_inputs_alone", "the pod or the cluster is changed", id="spoils"),
        pytest.param(
            filter_by(first_row), "does_not_depend_on_the_order_of_nodes", "in reverse order", id="favours a row"
        ),
        pytest.param(
            filter_by(alone),
            "judges_each_node_alone",
            "for n0 alone, filter returns another status",
            id="counts the nodes",
        ),
        pytest.param(
            filter_by(snapshot_only),
            "overlay_equals_really_changing",
            "n1 with its pods removed: filter returns",
            id="no overlay",
        ),
        pytest.param(
            filter_by(lambda plugin, nodes: used(plugin, nodes) > 1, reads=Dependencies()),
            "leaves_pods_out_where_reads_does",
            "reads declares no pods, but its pods removed change the result",
            id="a false promise",
        ),
        pytest.param(
            filter_by(snapshot_only, reads=OF_NODE),
            "answers_depend_on_no_more_than_reads_says",
            "the verdict of n0 depends on more than reads declares: with default/more-web bound to n0",
            id="pods that are not declared",
        ),
        pytest.param(
            filter_by(busiest, reads=Dependencies(pods=Reach.NODE)),
            "answers_depend_on_no_more_than_reads_says",
            "the verdict of n1 depends on more than reads declares: with the pods of n3 removed",
            id="pods of other nodes",
        ),
        pytest.param(
            score_by(lambda plugin, rows: plugin.handle.cluster.nodes.unschedulable[rows] * 1, reads=OF_NOTHING),
            "answers_depend_on_no_more_than_reads_says",
            "the score of n0 depends on more than reads declares: with n0 cordoned",
            id="a node that is not declared",
        ),
        pytest.param(
            score_by(lambda plugin, rows: rows * 0 + len(list(plugin.handle.cluster.list(Service))), reads=OF_NODE),
            "answers_depend_on_no_more_than_reads_says",
            "the score of n0 depends on more than reads declares: with every Service removed",
            id="objects that are not declared",
        ),
        pytest.param(
            Counting,
            "preparing_depends_on_no_more_than_prepares_from_says",
            "the prepared state depends on more than prepares_from declares: with the pods of n0 removed",
            id="a state of other pods",
        ),
        pytest.param(
            Named,
            "answers_depend_on_no_more_of_the_pod_than_own_part_says",
            "depend on the pod's own metadata",
            id="names that are not declared",
        ),
        pytest.param(
            filter_by(
                lambda plugin, nodes: [len(plugin.handle.cluster.pods.assigned) > n_assigned()] * len(nodes),
                reach_of_copies=lambda plugin, pod: Reach.NODE,
            ),
            "copies_change_no_more_than_reach_of_copies_says",
            "the verdict of n1 depends on more than reach_of_copies says: with a copy of the pod on n0",
            id="copies on other nodes",
        ),
        pytest.param(
            filter_by(
                lambda plugin, nodes: [len(plugin.handle.cluster.pods.assigned) > n_assigned()] * len(nodes),
                reach_of_copies=lambda plugin, pod: Reach.NOTHING,
            ),
            "copies_change_no_more_than_reach_of_copies_says",
            "the verdict of n0 depends on more than reach_of_copies says: with a copy of the pod on n0",
            id="copies on the node",
        ),
        pytest.param(
            filter_by(
                lambda plugin, nodes: [len(plugin.handle.cluster.pods.assigned) > n_assigned()] * len(nodes),
                placed_copies=lambda plugin, state, pod: Unchanged(plugin.handle.cluster),
            ),
            "placed_copies_count_as_in_a_changed_cluster",
            "the verdict of n0 by placed_copies differs from a cluster with copies of the pod on n0",
            id="copies that reject",
        ),
        pytest.param(
            score_by(
                lambda plugin, rows: rows * len(plugin.handle.cluster.pods.assigned) % 7,
                placed_copies=lambda plugin, state, pod: Unchanged(plugin.handle.cluster),
            ),
            "placed_copies_count_as_in_a_changed_cluster",
            "a missing score by placed_copies differs from a cluster with copies of the pod on n0",
            id="copies that are scored",
        ),
        pytest.param(
            filter_by(
                lambda plugin, nodes: [len(plugin.handle.cluster.pods.assigned) < n_assigned()] * len(nodes),
                reach_of_pods=lambda plugin, pod: Reach.NODE,
            ),
            "pods_change_no_more_than_reach_of_pods_says",
            "the verdict of n1 depends on more than reach_of_pods says: with the pods of n0 removed",
            id="pods on other nodes",
        ),
        pytest.param(
            filter_by(
                lambda plugin, nodes: [len(plugin.handle.cluster.pods.assigned) < n_assigned()] * len(nodes),
                placed_copies=lambda plugin, state, pod: Unchanged(plugin.handle.cluster),
            ),
            "placed_copies_follow_any_pods",
            "the verdict of n0 by placed_copies differs from a cluster with the pods of n0 removed",
            id="pods that are not followed",
        ),
    ],
)
def test_a_broken_plugin_is_found(plugin: type[Plugin], clause: str, text: str) -> None:
    (check,) = [check for check in plugin_checks(plugin) if check.clause.__name__ == clause]
    assert str(check) == f"Sample-{clause}"
    with pytest.raises(AssertionError, match=text):
        check()


def test_a_plugin_that_cannot_do_without_nodes_is_found() -> None:
    plugin = score_by(lambda plugin, rows: rows * 0 + int(plugin.handle.cluster.nodes.names.index("n0")))
    (check,) = [check for check in plugin_checks(plugin) if check.clause.__name__ == "copes_with_nothing"]
    with pytest.raises(ValueError, match="index"):
        check()


def test_where_pre_filter_skips_there_is_nothing_to_compare() -> None:
    def pre_filter(self: Plugin, state: object, pod: object) -> PreFilterResult:
        return PreFilterResult(Status(Code.SKIP))

    plugin = make_plugin("Sample", PreFilterPlugin, filter_by(snapshot_only), pre_filter=pre_filter)
    check_plugin(plugin)


def test_every_clause_has_its_words() -> None:
    assert all(clause.__doc__ for clause in CLAUSES)


def test_the_world_has_what_its_checks_need() -> None:
    cluster = WORLD.cluster()
    assert cluster.warnings == ()
    assert (cluster.pods.node_row == PENDING).sum() == 3
    assert WORLD.cluster(SampleChange()) is cluster
    assert WORLD.new_cluster() is not cluster
    changed = WORLD.cluster(SampleChange("n5", frozenset({"default/cache-1"}), frozenset({"default/more-web"})))
    assert [changed.pods.key(i) for i in changed.pods.on_node(5)] == ["default/more-web"]
    assert WORLD.reversed().cluster().nodes.names == cluster.nodes.names[::-1]


@pytest.mark.parametrize("name", [name for name, plugin in IN_TREE_PLUGINS.items() if issubclass(plugin, FilterPlugin)])
def test_every_filter_has_something_to_say_about_some_sample(name: str) -> None:
    if name == "DynamicResources":
        return
    subject = plugin_checks(IN_TREE_PLUGINS[name])[0].subject
    cluster = WORLD.cluster()
    said = [ask(subject.over(cluster), cluster, sample.pod) for sample in SAMPLES]
    assert any(status != Status() for answers in said for status in answers.verdicts.values())


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("100 - 100 * 1 // 3", 67),
        ("(0 - 7) // 2", -3),
        ("-7 // 2", -3),
        ("7 / 2", 3.5),
        ("round(2.5) + round(-2.5)", 0),
        ("trunc(-2.5)", -2),
        ("round(4 * log(5 + 2) + (5 - 1))", 12),
        ("sqrt(4) + abs(-1) + min(3, 1.0) + max(1, 2)", 6.0),
        ("2 * half", 1.0),
    ],
)
def test_values(expression: str, value: float) -> None:
    found = work_out(expression, {"half": 0.5})
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("2 +", "is not an expression"),
        ("2 ** 3", "is not allowed in an expression"),
        ("open(1)", "is not allowed in an expression"),
        ("whole", "no earlier step is named whole"),
        ("7.5 // 2", "// divides whole numbers, not 7.5"),
        ("7 // 2.0", "// divides whole numbers, not by 2.0"),
        ("True", "is not allowed in an expression"),
        ("'a'", "is not allowed in an expression"),
    ],
)
def test_what_is_no_expression(expression: str, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        work_out(expression, {})

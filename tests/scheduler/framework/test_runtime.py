from dataclasses import dataclass
from typing import Any
from weakref import ref

import numpy as np
import pytest

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.extenders.http_extender import HTTPExtender
from kschedctl.scheduler.framework.config.types import ExtenderConfig, ExtenderManagedResource
from kschedctl.scheduler.framework.cycle_state import CycleState, NotModelled
from kschedctl.scheduler.framework.dependencies import Dependencies
from kschedctl.scheduler.framework.extender import Extender
from kschedctl.scheduler.framework.interface import (
    MAX_PERMIT_SECONDS,
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PluginError,
    PostBindPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
)
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.runtime import PreFilterOutcome, run_bind, run_permit, run_pre_bind, run_reserve
from kschedctl.scheduler.framework.status import SKIP, Code, Status
from tests.builders import GPU, decide, make_cluster, make_node, make_pod
from tests.scheduler.extenders.server import Answer, ExtenderServer
from tests.scheduler.framework.plugins import (
    failing,
    filtering,
    make_framework,
    make_plugin,
    post_filtering,
    pre_filtering,
)

CLUSTER = make_cluster([make_node("a"), make_node("b"), make_node("c")])
POD = make_pod()
NEVER = Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def pre_filtered(*plugins: type[Plugin]) -> tuple[PreFilterOutcome, CycleState]:
    state = CycleState()
    return make_framework(CLUSTER, *plugins).run_pre_filter(state, POD), state


def test_a_framework_is_freed_with_its_last_reference() -> None:
    framework = make_framework(CLUSTER, filtering("A", {})).moved(CLUSTER)
    assert framework.plugin("A").handle.framework is framework
    freed = ref(framework)
    del framework
    assert freed() is None


def test_the_first_refusal_keeps_a_pod_out_of_the_queue() -> None:
    def gate(name: str, status: Status) -> type[Plugin]:
        def pre_enqueue(self: Plugin, pod: Pod) -> Status:
            return status

        return make_plugin(name, PreEnqueuePlugin, pre_enqueue=pre_enqueue)

    gates = [gate("Open", Status()), gate("One", Status(NEVER, ("one",))), gate("Two", Status(NEVER, ("two",)))]
    assert make_framework(CLUSTER, *gates).run_pre_enqueue(POD) == Status(NEVER, ("one",), "One")


def test_pre_filter_without_objections_leaves_all_nodes() -> None:
    outcome, state = pre_filtered(pre_filtering("A"), pre_filtering("B"))
    assert outcome == PreFilterOutcome(Status())
    assert state.skip_filter_plugins == set()


def test_plugins_that_skip_are_not_asked_to_filter() -> None:
    quiet = make_plugin("Quiet", pre_filtering("Quiet", Code.SKIP), filtering("Quiet", {"a": Status(NEVER, ("no",))}))
    framework = make_framework(CLUSTER, quiet, filtering("Loud", {}))
    state = CycleState()
    framework.run_pre_filter(state, POD)
    run = framework.run_filters(state, POD, CLUSTER.overlay())
    assert state.skip_filter_plugins == {"Quiet"}
    assert run.plugins == ("Loud",)
    assert run.passed.all()


@pytest.mark.parametrize(
    ("narrowing", "nodes", "by"),
    [
        pytest.param([("A", "a b")], "a b", ("A",), id="one plugin"),
        pytest.param([("B", "a b"), ("A", "b c")], "b", ("A", "B"), id="two: what both leave, by name"),
        pytest.param([("A", "gone")], "gone", ("A",), id="nodes that are not there are nodes to the framework"),
    ],
)
def test_pre_filter_narrows(narrowing: list[tuple[str, str]], nodes: str, by: tuple[str, ...]) -> None:
    outcome, _ = pre_filtered(pre_filtering("All"), *(pre_filtering(name, nodes=left) for name, left in narrowing))
    assert outcome == PreFilterOutcome(Status(), frozenset(nodes.split()), by)


@pytest.mark.parametrize(
    ("narrowing", "text"),
    [
        pytest.param([("A", "")], "node(s) didn't satisfy plugin A", id="one plugin leaves nothing"),
        pytest.param(
            [("B", "a"), ("A", "b"), ("C", "c")],
            "node(s) didn't satisfy plugin(s) [A B] simultaneously",
            id="two together do, the third is not asked",
        ),
    ],
)
def test_pre_filter_leaves_no_node(narrowing: list[tuple[str, str]], text: str) -> None:
    outcome, _ = pre_filtered(*(pre_filtering(name, nodes=left) for name, left in narrowing))
    assert outcome.status == Status(NEVER, (text,))


def test_a_final_rejection_ends_pre_filter() -> None:
    outcome, state = pre_filtered(pre_filtering("No", NEVER, "never"), pre_filtering("After", Code.SKIP))
    assert outcome == PreFilterOutcome(Status(NEVER, ("never",), "No"))
    assert state.skip_filter_plugins == set()


def test_after_a_rejection_that_preemption_may_resolve_the_others_go_on() -> None:
    outcome, state = pre_filtered(
        pre_filtering("Full", Code.UNSCHEDULABLE, "full"),
        pre_filtering("After", Code.SKIP),
        pre_filtering("Narrow", nodes="a"),
    )
    # Who narrowed the search is told all the same: the pod waits for events of theirs as well.
    assert outcome == PreFilterOutcome(Status(Code.UNSCHEDULABLE, ("full",), "Full"), plugins=("Narrow",))
    assert state.skip_filter_plugins == {"After"}


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(failing("Broken", PreFilterPlugin), id="raised"),
        pytest.param(pre_filtering("Broken", Code.ERROR, "out of order"), id="returned"),
    ],
)
def test_an_error_of_pre_filter_ends_the_cycle(plugin: type[Plugin]) -> None:
    with pytest.raises(PluginError, match=r'^running PreFilter plugin "Broken": out of order$'):
        pre_filtered(plugin)


def test_filters_all_answer_and_the_first_counts() -> None:
    one, two = Status(Code.UNSCHEDULABLE, ("one",)), Status(NEVER, ("two",))
    framework = make_framework(CLUSTER, filtering("One", {"a": one}), filtering("Two", {"a": two, "b": two}))
    statuses = framework.run_filters_with_nominated_pods(CycleState(), POD, CLUSTER.overlay())
    assert [statuses.status(row) for row in range(3)] == [
        Status(Code.UNSCHEDULABLE, ("one",), "One"),
        Status(NEVER, ("two",), "Two"),
        Status(),
    ]
    assert statuses.feasible.tolist() == [2]
    assert statuses.reason_counts() == {"one": 1, "two": 1}
    assert statuses.snapshot is not None
    assert statuses.snapshot.rejections["Two"].rejected.tolist() == [True, True, False]


def test_an_error_of_a_filter_names_the_plugin() -> None:
    framework = make_framework(CLUSTER, failing("Broken", FilterPlugin))
    statuses = framework.run_filters_with_nominated_pods(CycleState(), POD, CLUSTER.overlay())
    assert statuses.status(0) == Status(Code.ERROR, ('running "Broken" filter plugin: out of order',), "Broken")


#: A node of 4 CPU with 1 in use, to which a pod of 2 CPU is nominated.
def nominated(**fields: object) -> Pod:
    given = {"nominated": "a", "requests": {"cpu": "2"}, **fields}
    return make_pod("waiting", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("waiting", "pod", "fits"),
    [
        pytest.param(nominated(), make_pod(requests={"cpu": "1"}), True, id="fits with it: 1 + 2 + 1"),
        pytest.param(nominated(), make_pod(requests={"cpu": "2"}), False, id="does not: 1 + 2 + 2"),
        pytest.param(nominated(priority=5), make_pod(requests={"cpu": "2"}, priority=5), False, id="of equal priority"),
        pytest.param(nominated(priority=4), make_pod(requests={"cpu": "2"}, priority=5), True, id="of lower priority"),
        pytest.param(nominated(node="b"), make_pod(requests={"cpu": "2"}), True, id="it runs elsewhere already"),
        pytest.param(nominated(schedulerName="other"), make_pod(requests={"cpu": "2"}), True, id="of other schedulers"),
        pytest.param(nominated(nominated="gone"), make_pod(requests={"cpu": "2"}), True, id="to a node not there"),
        pytest.param(nominated(), make_pod("waiting", requests={"cpu": "2"}, nominated="a"), True, id="it is the pod"),
    ],
)
def test_nominated_pods_have_their_place(waiting: Pod, pod: Pod, fits: bool) -> None:
    cluster = make_cluster([make_node("a"), make_node("b")], [make_pod("r", node="a", requests={"cpu": "1"}), waiting])
    assert decide(pod, cluster).node("a").feasible is fits


def test_a_pod_must_fit_without_nominated_pods_too() -> None:
    # It wants to be near the nominated pod, which may never come.
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    waiting = make_pod("waiting", nominated="a", labels={"app": "web"})
    assert not decide(make_pod(affinity=affinity), make_cluster([make_node("a")], [waiting])).node("a").feasible


def test_both_views_of_a_node_are_kept() -> None:
    waiting = make_pod("waiting", nominated="a", requests={"cpu": "3"})
    cluster = make_cluster([make_node("a", taints=["x:NoSchedule"]), make_node("b")], [waiting])
    verdict = decide(make_pod(requests={"cpu": "2"}, tolerations=[{"operator": "Exists"}]), cluster).node("a")
    assert verdict.status == Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), "NodeResourcesFit")
    assert [(plugin, reason.detail) for plugin, (reason,) in verdict.reasons] == [
        ("NodeResourcesFit", "wants 2 cpu, free 4 of 4, 3 kept for nominated default/waiting")
    ]


def post_filtered(*plugins: type[Plugin]) -> tuple[Status, tuple[str, ...]] | None:
    statuses = NodeStatuses(3, Status(NEVER))
    result = make_framework(CLUSTER, *plugins).run_post_filter(CycleState(), POD, statuses)
    return None if result is None else (result.status, result.nominated)


def test_without_post_filter_plugins_there_is_no_result() -> None:
    assert post_filtered() is None


def test_the_first_success_of_post_filter_counts() -> None:
    found = post_filtered(
        post_filtering("A", Code.UNSCHEDULABLE, "a"),
        post_filtering("B", Code.SUCCESS, nominated=("b",)),
        post_filtering("C", Code.ERROR, "c"),
    )
    assert found == (Status(), ("b",))


def test_reasons_of_post_filter_add_up_under_the_first_name() -> None:
    plugins = [post_filtering("A", Code.UNSCHEDULABLE, "a"), post_filtering("B", Code.UNSCHEDULABLE, "b", "c")]
    found = post_filtered(*plugins)
    assert found == (Status(Code.UNSCHEDULABLE, ("a", "b", "c"), "A"), ())


@pytest.mark.parametrize("code", [NEVER, Code.ERROR])
def test_anything_else_ends_post_filter(code: Code) -> None:
    found = post_filtered(post_filtering("A", Code.UNSCHEDULABLE, "a"), post_filtering("B", code, "b"))
    assert found == (Status(code, ("b",), "B"), ())


def test_passing_asks_only_filters_that_look_at_pods() -> None:
    no = Status(NEVER, ("no",))
    static = make_plugin("Static", filtering("Static", {"a": no}), reads=Dependencies())
    framework = make_framework(CLUSTER, static, filtering("Dynamic", {"b": no}))
    assert np.array_equal(framework.passing(CycleState(), POD, CLUSTER.overlay()), [True, False, True])


BINDING_POD = make_pod("web")
NO = Status(Code.UNSCHEDULABLE, ("no",))
BROKEN = Status(Code.ERROR, ("out of order",))


class Log(list[str]):
    """The calls of plugins, in order."""

    def plugin(self, name: str, *bases: type[Plugin], **answers: Any) -> type[Plugin]:
        """Return a plugin whose method calls are logged and return these answers."""

        def logged(method: str, answer: Any) -> Any:
            def call(plugin: Plugin, state: CycleState, pod: Pod, node_name: str) -> Any:
                self.append(f"{name}.{method}")
                return answer

            return call

        return make_plugin(name, *bases, **{method: logged(method, answer) for method, answer in answers.items()})

    def reserving(self, name: str, status: Status) -> type[Plugin]:
        return self.plugin(name, ReservePlugin, reserve=status, unreserve=None)


@pytest.fixture
def log() -> Log:
    return Log()


def run(step: Any, *plugins: type[Plugin]) -> Any:
    framework = make_framework(make_cluster([make_node()]), *plugins)
    return step(framework, CycleState(), BINDING_POD, "node")


def test_reserve_asks_all(log: Log) -> None:
    assert run(run_reserve, log.reserving("A", Status()), log.reserving("B", Status())) == Status()
    assert log == ["A.reserve", "B.reserve"]


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        pytest.param(NO, Status(Code.UNSCHEDULABLE, ("no",), "B"), id="a refusal"),
        pytest.param(BROKEN, Status(Code.ERROR, ('running Reserve plugin "B": out of order',), "B"), id="an error"),
    ],
)
def test_where_reserve_fails_all_give_back_the_last_first(failure: Status, status: Status, log: Log) -> None:
    plugins = [log.reserving("A", Status()), log.reserving("B", failure), log.reserving("C", Status())]
    assert run(run_reserve, *plugins) == status
    assert log == ["A.reserve", "B.reserve", "C.unreserve", "B.unreserve", "A.unreserve"]


def permitting(log: Log, name: str, status: Status, seconds: float = 0) -> type[Plugin]:
    return log.plugin(name, PermitPlugin, permit=(status, seconds))


WAIT = Status(Code.WAIT)


def test_permit_lets_a_pod_wait_for_those_that_ask(log: Log) -> None:
    plugins = [permitting(log, "A", WAIT, 5), permitting(log, "B", Status()), permitting(log, "C", WAIT, 10**9)]
    status, waits = run(run_permit, *plugins)
    text = "one or more plugins asked to wait and no plugin rejected pod"
    assert status == Status(Code.WAIT, (text,))
    assert waits == {"A": 5, "C": MAX_PERMIT_SECONDS}


def test_a_refusal_of_permit_ends_the_waiting(log: Log) -> None:
    plugins = [permitting(log, "A", WAIT, 5), permitting(log, "B", NO), permitting(log, "C", Status())]
    assert run(run_permit, *plugins) == (Status(Code.UNSCHEDULABLE, ("no",), "B"), {})
    assert log == ["A.permit", "B.permit"]


def test_the_first_failure_of_pre_bind_ends_it(log: Log) -> None:
    plugins = [log.plugin("A", PreBindPlugin, pre_bind=BROKEN), log.plugin("B", PreBindPlugin, pre_bind=Status())]
    assert run(run_pre_bind, *plugins) == Status(Code.ERROR, ('running PreBind plugin "A": out of order',), "A")
    assert log == ["A.pre_bind"]


def binding(log: Log, name: str, status: Status) -> type[Plugin]:
    return log.plugin(name, BindPlugin, PostBindPlugin, bind=status, post_bind=None)


def test_the_first_that_does_not_skip_binds_and_all_are_told(log: Log) -> None:
    plugins = [binding(log, "A", SKIP), binding(log, "B", Status()), binding(log, "C", Status())]
    assert run(run_bind, *plugins) == Status()
    assert log == ["A.bind", "B.bind", "A.post_bind", "B.post_bind", "C.post_bind"]


def test_nobody_is_told_of_a_binding_that_failed(log: Log) -> None:
    assert run(run_bind, binding(log, "A", NO)) == Status(Code.UNSCHEDULABLE, ("no",), "A")
    assert log == ["A.bind"]


def test_nobody_binds(log: Log) -> None:
    assert run(run_bind, binding(log, "A", SKIP)) == SKIP


EXTENDER_POD = make_pod("web")
BOUND = ["PostBind"]
BY_PLUGIN = ["Bind", "PostBind"]


def bound_by(*extenders: Extender) -> tuple[Status, list[str], CycleState]:
    """Run a binding; return its status, the calls, and the cycle state."""
    log: list[str] = []

    def bind(*_: Any) -> Status:
        log.append("Bind")
        return Status()

    binder = make_plugin("A", BindPlugin, bind=bind)
    listener = make_plugin("B", PostBindPlugin, post_bind=lambda *_: log.append("PostBind"))
    framework = make_framework(make_cluster([make_node()]), binder, listener, extenders=extenders)
    state = CycleState()
    return run_bind(framework, state, EXTENDER_POD, "node"), log, state


@pytest.mark.parametrize(
    ("answer", "config", "code", "message", "log", "is_asked"),
    [
        pytest.param({}, {}, Code.SUCCESS, "", BOUND, True, id="it binds"),
        pytest.param({"Error": "taken"}, {}, Code.ERROR, "taken", [], True, id="it fails"),
        pytest.param({"Error": "taken"}, {"ignorable": True}, Code.SUCCESS, "", BY_PLUGIN, True, id="and may"),
        pytest.param({}, {"bind_verb": ""}, Code.SUCCESS, "", BY_PLUGIN, False, id="it does not bind at all"),
        pytest.param(
            {},
            {"managed_resources": (ExtenderManagedResource(GPU),)},
            Code.SUCCESS,
            "",
            BY_PLUGIN,
            False,
            id="it is not interested",
        ),
        pytest.param({}, {"binds": False}, Code.SUCCESS, "", BOUND, False, id="it is not really told to"),
    ],
)
def test_who_binds(
    answer: Answer, config: dict[str, Any], code: Code, message: str, log: list[str], is_asked: bool
) -> None:
    binds = config.get("binds", True)
    given = {name: value for name, value in config.items() if name != "binds"}
    with ExtenderServer({"bind": answer}) as server:
        own = ExtenderConfig(**{"url_prefix": server.url, "bind_verb": "bind", **given})
        status, took_part, state = bound_by(HTTPExtender(own, binds=binds))
    assert (status.code, status.message, took_part) == (code, message, log)
    assert bool(server.asked) == is_asked
    assert bool(state.not_modelled) == (is_asked and own.ignorable)


@dataclass
class Kept:
    value: int


def test_values_are_kept_by_type() -> None:
    state = CycleState()
    assert state.read(Kept) is None
    state.write(Kept(1))
    state.write(Kept(2))
    assert state.read(Kept) == Kept(2)


def test_what_is_not_modelled_is_worded() -> None:
    assert str(NotModelled("claims", "as if there were none")) == "not modelled: claims; as if there were none"

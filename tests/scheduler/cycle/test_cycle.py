from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.cycle import Binding, bind
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
)
from kschedctl.scheduler.framework.status import Code, Status
from tests.builders import HOSTNAME, ZONE, decide, make_cluster, make_container, make_node, make_pod, make_profile
from tests.scheduler.framework.plugins import failing, filtering, make_plugin, pre_filtering, scoring

NOTHING_MORE = "preemption: 0/{n} nodes are available: {why}."
NOT_HELPFUL = "Preemption is not helpful for scheduling"


def enabling(*names: str, point: str = "multiPoint") -> dict[str, Any]:
    return make_profile(plugins={point: {"enabled": [{"name": name} for name in names]}})


def test_a_pod_that_fits_goes_where_the_score_is_highest() -> None:
    nodes = [make_node("small", cpu="2"), make_node("large", cpu="64", memory="256Gi")]
    decision = decide(make_pod(requests={"cpu": "1", "memory": "1Gi"}), make_cluster(nodes))
    assert decision.best == ("large",)
    assert decision.schedulable
    assert decision.message == ""
    assert decision.post_filter is None


def test_equal_scores_are_left_to_chance() -> None:
    nodes = [make_node("b"), make_node("a"), make_node("small", cpu="1")]
    assert decide(make_pod(requests={"cpu": "500m"}), make_cluster(nodes)).best == ("a", "b")


@pytest.mark.parametrize(("disabled", "error"), [([], True), ([{"name": "*"}], False)])
def test_pre_score_does_not_run_without_score_plugins(disabled: list[object], error: bool) -> None:
    # No number is below a value that is no label value.
    term = {"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Lt", "values": ["-3"]}]}}
    pod = make_pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}})
    config = make_profile(plugins={"score": {"disabled": disabled}})
    decision = decide(pod, make_cluster([make_node("a"), make_node("b")]), config=config)
    assert (bool(decision.error), decision.best) == (error, () if error else ("a", "b"))


def test_the_message_counts_reasons_over_nodes() -> None:
    nodes = [
        make_node("a", cpu="1"),
        make_node("b", cpu="1"),
        make_node("c", taints=["gpu:NoSchedule"]),
        make_node("d", unschedulable=True),
        make_node("e", cpu="1", memory="1Gi"),
    ]
    decision = decide(make_pod(requests={"cpu": "2", "memory": "2Gi"}), make_cluster(nodes))
    assert decision.message == (
        "0/5 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 3 Insufficient cpu. " + NOTHING_MORE.format(n=5, why=f"5 {NOT_HELPFUL}")
    )


def test_the_message_where_preemption_might_have_helped() -> None:
    running = [make_pod("r", node="a", requests={"cpu": "4"}, priority=9)]
    decision = decide(make_pod(requests={"cpu": "2"}), make_cluster([make_node("a"), make_node("b", cpu="1")], running))
    why = f"1 No preemption victims found for incoming pod, 1 {NOT_HELPFUL}"
    assert decision.message == "0/2 nodes are available: 2 Insufficient cpu. " + NOTHING_MORE.format(n=2, why=why)


def test_the_message_of_a_pod_that_pre_filter_turns_away() -> None:
    def name(node: str) -> dict[str, Any]:
        return {"key": "metadata.name", "operator": "In", "values": [node]}

    terms = {"nodeSelectorTerms": [{"matchFields": [name("a"), name("b")]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    decision = decide(make_pod(affinity=affinity), make_cluster([make_node("a"), make_node("b")]))
    assert decision.message == "0/2 nodes are available: pod affinity terms conflict. not found"
    assert decision.node("a").status.message == "pod affinity terms conflict"
    assert decision.searched.tolist() == []


def test_nodes_that_pre_filter_left_out_have_their_own_reason() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    nodes = [make_node("a"), make_node("b", cpu="1"), make_node("c")]
    decision = decide(make_pod(affinity=affinity, requests={"cpu": "2"}), make_cluster(nodes))
    assert decision.searched.tolist() == [1]
    text = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
    assert decision.node("a").status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))
    assert decision.message.startswith(f"0/3 nodes are available: 1 Insufficient cpu, 2 {text}. ")


def test_without_nodes_the_cycle_ends_with_an_error() -> None:
    decision = decide(make_pod(), make_cluster())
    assert decision.error == "no nodes available to schedule pods"
    assert (decision.best, decision.message, decision.statuses) == ((), "", None)
    assert not decision.schedulable


OWN = make_pod(nominated="b", requests={"cpu": "1"})


@pytest.mark.parametrize(
    ("nodes", "best"),
    [
        pytest.param([make_node("a", cpu="64"), make_node("b")], ("b",), id="goes there though another scores higher"),
        pytest.param([make_node("a"), make_node("b", cpu="500m")], ("a",), id="goes elsewhere where it no longer fits"),
        pytest.param([make_node("a")], ("a",), id="or where the node is gone"),
    ],
)
def test_a_pod_nominated_to_a_node(nodes: list[Any], best: tuple[str, ...]) -> None:
    assert decide(OWN, make_cluster(nodes)).best == best


@pytest.mark.parametrize(
    ("verdict", "named"),
    [
        pytest.param(Status(), "[Narrow]", id="not where the pod is nominated to no node"),
        pytest.param(Status(Code.UNSCHEDULABLE, ("no",)), "[Broken Narrow]", id="a plugin that turned it away"),
        pytest.param(Status(Code.ERROR, ("no",)), "[Narrow]", id="not one that failed: the search just goes on"),
    ],
)
def test_who_turned_the_nominated_node_away_is_named_with_those_that_narrowed(verdict: Status, named: str) -> None:
    """Node a is left by PreFilter and too small; b is the pod's own, c is neither."""
    plugins = {"Narrow": pre_filtering("Narrow", nodes="a"), "Broken": filtering("Broken", {"b": verdict})}
    cluster = make_cluster([make_node("a", cpu="1"), make_node("b"), make_node("c")])
    pod = make_pod(nominated="b" if verdict.code else "", requests={"cpu": "2"})
    decision = decide(pod, cluster, config=enabling("Narrow", "Broken"), plugins=plugins)
    assert decision.error == ""
    assert decision.node("c").status.message == f"node(s) didn't satisfy plugin(s) {named}"
    own = "no" if verdict.code is Code.UNSCHEDULABLE else decision.node("c").status.message
    assert decision.node("b").status.message == own


def test_an_error_elsewhere_does_not_matter_where_the_nominated_node_fits() -> None:
    plugins = {"Broken": filtering("Broken", {"a": Status(Code.ERROR, ("out of order",))})}
    decision = decide(OWN, make_cluster([make_node("a"), make_node("b")]), config=enabling("Broken"), plugins=plugins)
    assert (decision.error, decision.best) == ("", ("b",))


def test_a_nominated_node_is_looked_at_though_pre_filter_left_it_out() -> None:
    plugins = {"Narrow": pre_filtering("Narrow", nodes="a")}
    cluster = make_cluster([make_node("a"), make_node("b")])
    decision = decide(OWN, cluster, config=enabling("Narrow"), plugins=plugins)
    assert decision.best == ("b",)


@pytest.mark.parametrize(
    ("plugin", "error"),
    [
        pytest.param(
            failing("Broken", PreFilterPlugin), 'running PreFilter plugin "Broken": out of order', id="PreFilter"
        ),
        pytest.param(failing("Broken", FilterPlugin), 'running "Broken" filter plugin: out of order', id="Filter"),
        pytest.param(
            failing("Broken", ScorePlugin),
            'running Score plugins: plugin "Broken" failed with: out of order',
            id="Score",
        ),
    ],
)
def test_an_error_of_a_plugin_ends_the_cycle(plugin: type[Plugin], error: str) -> None:
    cluster = make_cluster([make_node("a"), make_node("b")])
    decision = decide(make_pod(), cluster, config=enabling("Broken"), plugins={"Broken": plugin})
    assert (decision.error, decision.best, decision.message) == (error, (), "")
    assert not decision.schedulable


def test_of_several_errors_that_of_the_first_node_by_name_counts() -> None:
    verdicts = {name: Status(Code.ERROR, (f"broken on {name}",)) for name in ("b", "a")}
    plugins = {"Broken": filtering("Broken", verdicts)}
    cluster = make_cluster([make_node("c"), make_node("b"), make_node("a")])
    decision = decide(make_pod(), cluster, config=enabling("Broken"), plugins=plugins)
    assert decision.error == 'running "Broken" filter plugin: broken on a'


def test_an_error_on_one_node_ends_the_cycle_though_others_fit() -> None:
    plugins = {"Broken": filtering("Broken", {"a": Status(Code.ERROR, ("out of order",))})}
    cluster = make_cluster([make_node("a"), make_node("b")])
    assert decide(make_pod(), cluster, config=enabling("Broken"), plugins=plugins).best == ()


def test_with_a_single_feasible_node_an_error_of_scoring_does_not_matter() -> None:
    plugins = {"Broken": failing("Broken", ScorePlugin)}
    decision = decide(make_pod(), make_cluster([make_node("a")]), config=enabling("Broken"), plugins=plugins)
    assert (decision.best, decision.error) == (("a",), "")


def test_a_score_out_of_range_is_an_error() -> None:
    plugins = {"High": scoring("High", 1, 101)}
    cluster = make_cluster([make_node("a"), make_node("b")])
    decision = decide(make_pod(), cluster, config=enabling("High"), plugins=plugins)
    assert "invalid score 101" in decision.error


def test_a_filter_is_asked_about_nodes_that_another_turned_away() -> None:
    no = Status(Code.UNSCHEDULABLE, ("also no",))
    plugins = {"Also": filtering("Also", {"a": no})}
    cluster = make_cluster([make_node("a", cpu="1")])
    verdict = decide(make_pod(requests={"cpu": "2"}), cluster, config=enabling("Also"), plugins=plugins).node("a")
    assert verdict.status.plugin == "NodeResourcesFit"
    assert [plugin for plugin, _ in verdict.reasons] == ["NodeResourcesFit", "Also"]


def test_the_pod_does_not_count_as_running() -> None:
    # It is on the node already and takes half of it.
    pod = make_pod("web", requests={"cpu": "3"})
    cluster = make_cluster([make_node("a")], [make_pod("other", node="a", requests={"cpu": "1"}), pod])
    assert decide(pod, cluster).best == ("a",)


def test_everything_together() -> None:
    spread = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    web = {"app": "web"}
    nodes = [
        make_node("a1", zone="a"),
        make_node("b1", zone="b", taints=["x:NoSchedule"]),
        make_node("b2", zone="b", cpu="1"),
        make_node("b3", zone="b"),
    ]
    running = [
        make_pod("w", node="a1", labels=web),
        make_pod("p", node="b3", containers=[make_container(ports=[{"containerPort": 1, "hostPort": 1}])]),
    ]
    pod = make_pod(
        labels=web,
        topologySpreadConstraints=[spread],
        containers=[make_container(requests={"cpu": "2"}, ports=[{"containerPort": 1, "hostPort": 1}])],
    )
    decision = decide(pod, make_cluster(nodes, running))
    assert decision.message.startswith(
        "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) didn't have free ports for the requested pod ports, "
        "1 node(s) didn't match pod topology spread constraints, 1 node(s) had untolerated taint(s). "
    )


def test_plugins_from_outside_take_part_by_name() -> None:
    plugins = {"Mine": make_plugin("Mine", filtering("Mine", {"a": Status(Code.UNSCHEDULABLE, ("not mine",))}))}
    decision = decide(make_pod(), make_cluster([make_node("a")]), config=enabling("Mine"), plugins=plugins)
    assert decision.message.startswith("0/1 nodes are available: 1 not mine.")


class Logger(ReservePlugin, PostBindPlugin):
    name = "Logger"
    log: ClassVar[list[str]] = []

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self.log.append(f"reserve {node_name}")
        return Status()

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self.log.append(f"unreserve {node_name}")

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self.log.append(f"bound {node_name}")


class Gate(PermitPlugin):
    name = "Gate"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        match pod.metadata.labels.get("gate"):
            case "wait":
                return Status(Code.WAIT), 3600.0
            case "closed":
                return Status(Code.UNSCHEDULABLE, ("the gate is closed",)), 0.0
            case _:
                return Status(), 0.0


class Broken(PreBindPlugin):
    name = "Broken"

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return Status(Code.ERROR, ("no disk",)) if "broken" in pod.metadata.labels else Status()


PLUGINS: Mapping[str, type[Plugin]] = {plugin.name: plugin for plugin in (Logger, Gate, Broken)}


def run(**labels: str) -> tuple[Binding, list[str]]:
    Logger.log.clear()
    config = make_profile(plugins={"multiPoint": {"enabled": [{"name": name} for name in PLUGINS]}})
    decision = decide(make_pod(labels=labels), make_cluster([make_node("a")]), config=config, plugins=PLUGINS)
    return bind(decision, "a"), list(Logger.log)


@pytest.mark.parametrize(
    ("labels", "status", "log"),
    [
        pytest.param({}, Status(), ["reserve a", "bound a"], id="bound"),
        pytest.param(
            {"gate": "closed"},
            Status(Code.UNSCHEDULABLE, ("the gate is closed",), "Gate"),
            ["reserve a", "unreserve a"],
            id="a refusal gives back what was reserved",
        ),
        pytest.param(
            {"broken": "yes"},
            Status(Code.ERROR, ('running PreBind plugin "Broken": no disk',), "Broken"),
            ["reserve a", "unreserve a"],
            id="an error names plugin and extension point",
        ),
        pytest.param(
            {"gate": "wait"},
            Status(Code.WAIT, ("one or more plugins asked to wait and no plugin rejected pod",)),
            ["reserve a"],
            id="a pod that waits keeps what is reserved",
        ),
    ],
)
def test_binding(labels: dict[str, str], status: Status, log: list[str]) -> None:
    binding, logged = run(**labels)
    assert binding.status == status
    assert logged == log


def test_no_plugin_lets_a_pod_wait_for_longer_than_a_quarter_of_an_hour() -> None:
    assert run(gate="wait")[0].waits == {"Gate": 900.0}


ZONED = [make_node("a", zone="a"), make_node("b", zone="b")]
TERM = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}


def without(plugin: str, point: str) -> dict[str, Any]:
    return make_profile(plugins={point: {"disabled": [{"name": plugin}]}})


@pytest.mark.parametrize(
    ("plugin", "error"),
    [
        ("NodePorts", 'reading "PreFilterNodePorts" from cycleState: not found'),
        ("NodeResourcesFit", 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'),
        ("PodTopologySpread", 'reading "PreFilterPodTopologySpread" from cycleState: not found'),
        ("InterPodAffinity", 'error reading "PreFilterInterPodAffinity" from cycleState: not found'),
        ("NodeDeclaredFeatures", 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'),
    ],
)
def test_filters_that_miss_their_state_end_the_cycle(plugin: str, error: str) -> None:
    decision = decide(make_pod(), make_cluster(ZONED), config=without(plugin, "preFilter"))
    assert decision.error == f'running "{plugin}" filter plugin: {error}'


def test_node_affinity_filters_without_its_pre_filter() -> None:
    pod = make_pod(nodeSelector={HOSTNAME: "b"})
    assert decide(pod, make_cluster(ZONED), config=without("NodeAffinity", "preFilter")).best == ("b",)


@pytest.mark.parametrize(
    ("plugin", "error"),
    [
        ("TaintToleration", 'reading "PreScoreTaintToleration" from cycleState: not found'),
        ("PodTopologySpread", 'error reading "PreScorePodTopologySpread" from cycleState: not found'),
        ("InterPodAffinity", 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'),
    ],
)
def test_scores_that_miss_their_state_end_the_cycle(plugin: str, error: str) -> None:
    decision = decide(make_pod(), make_cluster(ZONED), config=without(plugin, "preScore"))
    assert decision.error == f'running Score plugins: plugin "{plugin}" failed with: {error}'


@pytest.mark.parametrize("plugin", ["NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation"])
def test_others_work_their_state_out_when_scoring(plugin: str) -> None:
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    pod = make_pod(affinity=affinity, requests={"cpu": "1", "memory": "1Gi"})
    cluster = make_cluster([*ZONED, make_node("c", labels={"disk": "ssd"})])
    with_it, without_it = decide(pod, cluster), decide(pod, cluster, config=without(plugin, "preScore"))
    assert with_it.scores is not None
    assert without_it.scores is not None
    assert without_it.scores.total.tolist() == with_it.scores.total.tolist()


def test_a_broken_preferred_term_is_an_error_of_scoring() -> None:
    broken = {**TERM, "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}}
    preferred = [{"weight": 1, "podAffinityTerm": broken}]
    pod = make_pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}})
    decision = decide(pod, make_cluster(ZONED), config=without("InterPodAffinity", "preFilter"))
    assert decision.error
    assert decision.best == ()

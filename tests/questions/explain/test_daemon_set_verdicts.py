"""The pods of a DaemonSet get the answers that they get one by one, from few decisions."""

from collections.abc import Collection, Sequence
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.workload import DaemonSet, PodTemplateSpec
from kschedctl.questions.explain.analysis import decide_together
from kschedctl.questions.explain.answer import WorkloadData
from kschedctl.questions.explain.daemon_set_verdicts import DaemonSetVerdicts
from kschedctl.questions.provenance import PodSubject
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.builders import ZONE, make_cluster, make_loaded, make_node, make_object, make_pod
from tests.example_counts import scaled
from tests.scheduler.cycle.test_alike_members import busy_nodes
from tests.scheduler.cycle.test_moved import objects
from tests.scheduler.devices import builders as devices

_WORKLOAD = WorkloadData("DaemonSet", "default", "agent", 3)


def with_daemon_set(
    kind: Pod,
    nodes: Sequence[Node],
    running: Sequence[Pod],
    *others: ApiObject,
    runs_on: Collection[str] = (),
    version: str = "1.36",
) -> tuple[LoadedCluster, list[PodSubject]]:
    """A cluster, and the pods of a kind that a DaemonSet gets there. No pod is admitted, so that its priority stays."""
    labels = {"app": "agent", **kind.metadata.labels, "of": "agent"}
    template = PodTemplateSpec(metadata=structs.replace(kind.metadata, labels=labels), spec=kind.spec)
    daemon_set = make_object(DaemonSet, "agent", spec={"selector": {"matchLabels": {"of": "agent"}}})
    daemon_set = structs.replace(daemon_set, spec=structs.replace(daemon_set.spec, template=template))

    def loaded(pods: Sequence[Pod]) -> LoadedCluster:
        found = make_loaded(make_cluster(nodes, pods, daemon_set, *others), version)
        found.admission = False
        return found

    own = [
        structs.replace(made.pod, spec=structs.replace(made.pod.spec, node_name=made.node))
        for made in loaded(running).pods_of(daemon_set)
        if made.node in runs_on
    ]
    cluster = loaded([*running, *own])
    pods = [PodSubject(each.pod, workload=_WORKLOAD, node=each.node) for each in cluster.pods_of(daemon_set)]
    return cluster, pods


def told(cluster: LoadedCluster, pods: Sequence[PodSubject]) -> list[Any]:
    return [
        (decided.explained().explanation(), decided.workload, sorted(decided.own_nodes, key=lambda node: node.name))
        for decided in decide_together(cluster, pods, seed=None)
    ]


def both(cluster: LoadedCluster, pods: Sequence[PodSubject]) -> list[Any]:
    """Return what is said of the pods, which is the same with a decision for each."""
    ours = told(cluster, pods)
    with patch.object(DaemonSetVerdicts, "kind", lambda verdicts, one: one.key):
        assert ours == told(cluster, pods)
    return ours


@given(data=st.data(), version=st.sampled_from(sorted(RELEASES)))
@settings(max_examples=scaled(100))
def test_the_answers_are_those_of_a_decision_for_each_pod(data: st.DataObject, version: str) -> None:
    draw = data.draw
    made, running, kinds = draw(busy_nodes())
    full = draw(st.lists(st.sampled_from(made), max_size=4, unique_by=lambda node: node.name))
    running += [
        make_pod(f"full-{number}", node=node.name, priority=draw(st.sampled_from([-5, 0, 9])), requests={"cpu": "3"})
        for number, node in enumerate(full)
    ]
    others: list[ApiObject] = [*objects(), devices.make_claim("gpu-claim", devices.request())]
    kind = draw(st.sampled_from(kinds))
    runs_on = draw(st.sets(st.sampled_from([node.name for node in made])))
    cluster, pods = with_daemon_set(kind, made, running, *others, runs_on=runs_on, version=version)
    if pods:
        with patch("kschedctl.questions.explain.daemon_set_verdicts._FEW", 1):
            both(cluster, pods)


_TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "agent"}}}
_ZONE_TERM = {**_TERM, "topologyKey": ZONE}
_SPREAD = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **_TERM}


def _full(*nodes: str, priority: int) -> list[Pod]:
    return [make_pod(f"full-{name}", node=name, priority=priority, requests={"cpu": "4"}) for name in nodes]


@pytest.mark.parametrize(
    ("kind", "running", "runs_on", "answers", "cycles"),
    [
        pytest.param(make_pod(), [], "", [["n0", "n1", "n2", "n3", "n4", "n5"]], 2, id="all fit"),
        pytest.param(
            make_pod(requests={"cpu": "1"}),
            _full("n1", "n2", priority=0),
            "",
            [["n0", "n3", "n4", "n5"], ["n1", "n2"]],
            4,
            id="two nodes are full",
        ),
        pytest.param(
            make_pod(requests={"cpu": "1"}, priority=5),
            [*_full("n1", priority=0), *_full("n2", priority=9)],
            "",
            [["n0", "n3", "n4", "n5"], ["n1"], ["n2"]],
            5,
            id="victims on one of two full nodes",
        ),
        pytest.param(
            make_pod(requests={"cpu": "5"}), [], "", [["n0", "n1", "n2", "n3", "n4", "n5"]], 2, id="too large for all"
        ),
        pytest.param(
            make_pod(topologySpreadConstraints=[_SPREAD]),
            [],
            "",
            [["n0", "n1", "n2", "n3", "n4", "n5"]],
            7,
            id="a spread constraint counts the nodes of the affinity alone",
        ),
        pytest.param(
            make_pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]}}),
            [make_pod("old", node="n1", labels={"app": "agent"})],
            "",
            [["n0", "n2", "n3", "n4", "n5"], ["n1"]],
            4,
            id="anti-affinity",
        ),
        pytest.param(
            make_pod(requests={"cpu": "3"}),
            _full("n2", priority=0),
            "n0 n1 n3 n4",
            [["n0", "n1", "n3", "n4", "n5"], ["n2"]],
            4,
            id="most of them run, and each is decided for without itself",
        ),
        pytest.param(
            make_pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_ZONE_TERM]}}),
            [],
            "n0 n1",
            [["n0", "n1", "n2", "n3", "n4", "n5"]],
            6,
            id="running pods that keep others away from their zone",
        ),
    ],
)
def test_few_decisions_answer_for_all_nodes(
    kind: Pod, running: list[Pod], runs_on: str, answers: list[list[str]], cycles: int
) -> None:
    nodes = [make_node(f"n{i}", zone="z", cpu="4") for i in range(6)]
    cluster, pods = with_daemon_set(kind, nodes, running, runs_on=runs_on.split())
    with (
        patch("kschedctl.scheduler.cycle.scheduler.schedule_pod", side_effect=schedule_pod) as whole,
        patch("kschedctl.questions.explain.daemon_set_verdicts.schedule_pod", side_effect=schedule_pod) as among,
    ):
        found = told(cluster, pods)
    assert [list(workload.nodes) for _, workload, _ in found] == answers
    assert whole.call_count + among.call_count == cycles
    both(cluster, pods)

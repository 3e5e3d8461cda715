import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.framework.interface import PreFilterPlugin
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Reason
from kschedctl.testing.samples import SAMPLES, Sample
from tests.builders import decide, make_cluster, make_node, make_pod, make_profile
from tests.scheduler.framework.plugins import failing


def test_what_is_said_of_one_node() -> None:
    nodes = [make_node("a", cpu="1", taints=["x:NoSchedule"]), make_node("b")]
    decision = decide(make_pod(requests={"cpu": "2"}), make_cluster(nodes))
    a, b = decision.node("a"), decision.node("b")
    assert (a.feasible, b.feasible) == (False, True)
    assert a.status.plugin == "TaintToleration"
    assert [(plugin, [reason.detail for reason in reasons]) for plugin, reasons in a.reasons] == [
        ("TaintToleration", ["taint x:NoSchedule is not tolerated"]),
        ("NodeResourcesFit", ["wants 2 cpu, free 1 of 1"]),
    ]
    assert b.reasons == ()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
def test_no_reason_is_made_on_the_way_to_a_decision(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    init = Reason.__init__

    def counted(self: Reason, text: str, operands: Operands | None = None) -> None:
        made.append(text)
        init(self, text, operands)

    monkeypatch.setattr(Reason, "__init__", counted)
    decision = decide(sample.pod, sample.world.cluster())
    assert made == []
    # Where reasons are looked at, they are counted.
    for row in range(len(decision.cluster.nodes)) if decision.statuses is not None else ():
        said = [reason.text for _, reasons in decision.verdict(row).reasons for reason in reasons]
        assert made == said
        made.clear()


def test_a_node_that_is_not_there() -> None:
    with pytest.raises(InputError) as caught:
        decide(make_pod(), make_cluster([make_node("node-1"), make_node("node-2")])).node("node1")
    assert str(caught.value) == "the cluster has no node node1\n  did you mean node-1?"


def test_where_a_nominated_pod_decides_its_reason_comes_first() -> None:
    waiting = make_pod("waiting", nominated="a", requests={"cpu": "3"})
    cluster = make_cluster([make_node("a"), make_node("b"), make_node("c")], [waiting])
    verdict = decide(make_pod(requests={"cpu": "2"}), cluster).node("a")
    ((plugin, (reason,)),) = verdict.reasons
    assert (plugin, reason.detail) == (
        "NodeResourcesFit",
        "wants 2 cpu, free 4 of 4, 3 kept for nominated default/waiting",
    )


def test_of_both_views_every_plugin_is_named_once() -> None:
    waiting = make_pod("waiting", nominated="a", requests={"cpu": "3"})
    cluster = make_cluster([make_node("a", memory="1Gi"), make_node("b")], [waiting])
    verdict = decide(make_pod(requests={"cpu": "2", "memory": "2Gi"}, nodeSelector={"no": "where"}), cluster).node("a")
    assert [plugin for plugin, _ in verdict.reasons] == ["NodeAffinity", "NodeResourcesFit"]
    # With the nominated pod in place CPU is short as well.
    assert [reason.text for reason in dict(verdict.reasons)["NodeResourcesFit"]] == [
        "Insufficient cpu",
        "Insufficient memory",
    ]


def test_a_decision_knows_its_cluster_and_rules() -> None:
    cluster = make_cluster([make_node("a")])
    decision = decide(make_pod(), cluster)
    assert decision.cluster is cluster
    assert decision.release is LATEST
    assert decision.preemption is None
    assert decision.not_modelled == ()


def test_where_the_cycle_ended_before_filtering_a_node_has_no_verdict_of_its_own() -> None:
    config = make_profile(plugins={"multiPoint": {"enabled": [{"name": "Broken"}]}})
    plugins = {"Broken": failing("Broken", PreFilterPlugin)}
    verdict = decide(make_pod(), make_cluster([make_node("a")]), config=config, plugins=plugins).node("a")
    assert (verdict.node, verdict.reasons) == ("a", ())

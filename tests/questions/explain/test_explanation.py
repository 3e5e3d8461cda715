"""The form of ``-o json`` is what its schema says."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.admission.chain import admit
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.resources import exact_quantity
from kschedctl.output.data_forms import as_json, as_yaml
from kschedctl.questions.explain.answer import (
    CandidateData,
    ConstraintData,
    Explanation,
    ExplanationList,
    NodeScoreData,
    PodData,
    PreemptionData,
    ScoresData,
    StatusData,
    VerdictData,
)
from kschedctl.questions.explain.explanation import Explained, summary, usage_data
from kschedctl.questions.explain.node_results import node_data
from kschedctl.questions.provenance import Provenance
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.preemption.result import NEVER
from kschedctl.trials.completeness import find_missing
from tests.answer_schema import validate
from tests.builders import decide, make_cluster, make_loaded, make_node, make_pod


def explain(cluster: Cluster, pod: Pod, *, seed: int | None = None) -> Explanation:
    choice = choose_release("1.36", "", ())
    pod = default_pod(pod)
    decision = Scheduler(cluster, choice.release).decide(admit(pod, cluster, release=choice.release).pod)
    missing = find_missing(cluster, pod)
    provenance = Provenance(release_choice=choice, paths=("here",), n_pods=len(cluster.pods), missing=missing)
    return Explained(decision, provenance, seed=seed).explanation()


ANSWERS = {
    "fits": (make_cluster([make_node("a"), make_node("b", cpu="1")]), make_pod(requests={"cpu": "1"})),
    "fits nowhere": (make_cluster([make_node("a", taints=["x=y:NoSchedule"])]), make_pod(requests={"cpu": "9"})),
    "gated": (make_cluster([make_node("a")]), make_pod(schedulingGates=[{"name": "wait"}])),
    "no nodes": (make_cluster(), make_pod()),
    "turned away before any node": (
        make_cluster([make_node("a")]),
        make_pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]),
    ),
    "something missing": (make_cluster([make_node("a")]), make_pod(runtimeClassName="gvisor", overhead={"cpu": "1"})),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_are_valid_by_the_schema(case: str) -> None:
    value: Any = json.loads(as_json(explain(*ANSWERS[case])))
    validate(value)


def test_lists_are_valid_by_the_schema() -> None:
    value = json.loads(as_json(ExplanationList(items=tuple(explain(*case) for case in ANSWERS.values()))))
    validate(value)


@pytest.mark.parametrize(
    ("case", "result", "complete"),
    [
        ("fits", "scheduled", False),
        ("fits nowhere", "unschedulable", False),
        ("gated", "gated", False),
        ("no nodes", "error", False),
    ],
)
def test_verdict(case: str, result: str, complete: bool) -> None:
    found = explain(*ANSWERS[case])
    assert found.verdict.result == result
    # None of these clusters has a pod, which is said.
    assert found.complete is complete


def test_yaml_is_the_same_data() -> None:
    import yaml

    found = explain(*ANSWERS["fits nowhere"])
    assert yaml.safe_load(as_yaml(found)) == json.loads(as_json(found))


def test_names_are_the_nodes_it_can_go_to() -> None:
    tied = make_cluster([make_node("b"), make_node("a")])
    assert explain(tied, make_pod()).names() == ("node/a", "node/b")
    assert explain(tied, make_pod(), seed=1).names() in (("node/a",), ("node/b",))
    assert explain(tied, make_pod()).names(single=False) == ("pod/default/pod node/a", "pod/default/pod node/b")
    assert explain(*ANSWERS["fits nowhere"]).names() == ()
    gated = explain(tied, make_pod(schedulingGates=[{"name": "wait"}]))
    assert (gated.verdict.result, gated.verdict.nodes) == (Outcome.GATED, ("a", "b"))
    assert gated.names() == ()


def test_kube_scheduler_writes_no_message_for_a_pod_that_it_does_not_try() -> None:
    waits = make_pod(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "missing"}])
    cluster = make_loaded(make_cluster([make_node("a")], [waits]))
    answer = explain(cluster.cluster, waits)
    assert answer.verdict.summary.startswith(
        'default/pod is not tried: pod "default/pod": ResourceClaim not created yet'
    )
    assert (answer.verdict.result, answer.message) == (Outcome.GATED, "")
    assert SchedulingCluster(cluster).preempt("default/pod").preemption_message == ""
    assert [group.message for group in SchedulingCluster(cluster).pending().groups] == [""]
    capacity = SchedulingCluster(cluster).capacity("default/pod")
    assert (capacity.message, capacity.gate) == ("", 'pod "default/pod+1": ResourceClaim not created yet')


def test_same_seed_picks_the_same_node() -> None:
    tied = make_cluster(make_node(f"n{i}") for i in range(20))
    picks = {explain(tied, make_pod(), seed=seed).verdict.picked for seed in (5, 5, 5)}
    assert len(picks) == 1
    assert len({explain(tied, make_pod(), seed=seed).verdict.picked for seed in range(20)}) > 1


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 2000, "2"),
        ("cpu", 1, "1m"),
        ("memory", 0, "0"),
        ("memory", 1 << 40, "1Ti"),
        ("memory", (1 << 30) + 1, "1073741825"),
        ("ephemeral-storage", 3 << 10, "3Ki"),
        ("example.com/gpu", 1024, "1024"),
    ],
)
def test_quantities_are_exact(resource: str, amount: int, text: str) -> None:
    assert exact_quantity(resource, amount) == text


_CROWD = tuple(make_pod(f"web-{i}", labels={"app": "web"}, node=node) for i, node in enumerate("aab"))
_ZONES = tuple(make_node(name, labels={"zone": zone}) for name, zone in (("a", "x"), ("b", "y"), ("c", "z")))
_WEB = {"matchLabels": {"app": "web"}}


def _spread(**fields: Any) -> dict[str, Any]:
    constraint = {"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _WEB}
    return {"topologySpreadConstraints": [{**constraint, **fields}]}


def _near(**labels: str) -> dict[str, Any]:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": labels}}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            _spread(),
            [ConstraintData("PodTopologySpread", "zone", {"x": 2, "y": 1, "z": 0}, 3, True, 0, 2)],
            id="spread",
        ),
        pytest.param(
            {**_spread(minDomains=9), "nodeSelector": {"zone": "x"}},
            [ConstraintData("PodTopologySpread", "zone", {"x": 2}, 1, True, 0, 2)],
            id="the-minimum-of-too-few-domains-is-0",
        ),
        pytest.param(_spread(whenUnsatisfiable="ScheduleAnyway"), [], id="not-required"),
        pytest.param(
            _near(app="web"),
            [ConstraintData("InterPodAffinity", "zone", {"x": 2, "y": 1, "z": 0}, 3, True)],
            id="affinity",
        ),
        pytest.param(
            _near(app="db"),
            [ConstraintData("InterPodAffinity", "zone", {"x": 0, "y": 0, "z": 0}, 3, False)],
            id="affinity-with-no-pod",
        ),
        pytest.param({}, [], id="none"),
    ],
)
def test_required_constraints_have_the_pods_of_every_domain(
    spec: dict[str, Any], expected: list[ConstraintData]
) -> None:
    pod = make_pod("new", labels={"app": "web"}, **spec)
    assert list(explain(make_cluster(_ZONES, _CROWD), pod).constraints) == expected


def test_the_domains_with_most_pods_are_reported() -> None:
    nodes = [make_node(f"n{i:02}", labels={"zone": f"z{i:02}"}) for i in range(70)]
    (found,) = explain(
        make_cluster(nodes, [make_pod("w", labels={"app": "web"}, node="n69")]), make_pod(**_spread())
    ).constraints
    assert (len(found.pods), next(iter(found.pods)), found.domains) == (60, "z69", 70)


POD = PodData("shop", "web", {}, 0, "", "default-scheduler", "", "")
NOWHERE = VerdictData(Outcome.UNSCHEDULABLE, "", (), None, 0, "")
FAILED = StatusData("Unschedulable", "DefaultPreemption", ())


def scheduled(*best: str, feasible: int = 5, picked: str | None = None) -> VerdictData:
    return VerdictData(Outcome.SCHEDULED, "", best, picked, feasible, "")


def scores(*totals: int) -> ScoresData:
    return ScoresData({}, tuple(NodeScoreData(f"n{i}", total, {}) for i, total in enumerate(totals, 1)))


def preemption(*candidates: tuple[str, int, int], nominated: int = 1, terminating: int = 0) -> PreemptionData:
    found = tuple(
        CandidateData(name, names, violations, "", names[:terminating])
        for name, victims, violations in candidates
        for names in [tuple(f"ns/p{i}" for i in range(victims))]
    )
    return PreemptionData(FAILED, tuple(c.name for c in found[:nominated]), found)


@pytest.mark.parametrize(
    ("verdict", "more", "text"),
    [
        (
            scheduled("n1", picked="n1"),
            {"scores": scores(512, 498)},
            "shop/web fits on 5 of 9 nodes and is scheduled to n1 (score 512, next best n2 with 498).",
        ),
        (
            scheduled("n1", feasible=1, picked="n1"),
            {"scores": scores(512)},
            "shop/web fits on 1 of 9 nodes and is scheduled to n1.",
        ),
        (
            scheduled("n1", "n2"),
            {"scores": scores(512, 512, 3)},
            "shop/web fits on 5 of 9 nodes and is scheduled to one of n1 and n2 (score 512 each; kube-scheduler picks "
            "at random).",
        ),
        (
            scheduled("n1", "n2", picked="n2"),
            {"scores": scores(512, 512)},
            "shop/web fits on 5 of 9 nodes and is scheduled to n2 (score 512, chosen by the seed; also possible: n1).",
        ),
        (NOWHERE, {}, "shop/web fits on none of 9 nodes."),
        (
            NOWHERE,
            {"preemption": preemption(nominated=0)},
            "shop/web fits on none of 9 nodes. Preemption would not help.",
        ),
        (
            NOWHERE,
            {"preemption": preemption(("n1", 1, 0))},
            "shop/web fits on none of 9 nodes. Preemption would help: n1, evicting ns/p0.",
        ),
        (
            NOWHERE,
            {"preemption": preemption(("n1", 3, 2))},
            "shop/web fits on none of 9 nodes. Preemption would help: n1, evicting 3 pods, 2 of them in violation of a "
            "disruption budget.",
        ),
        (
            NOWHERE,
            {"preemption": preemption(("n1", 1, 0), terminating=1)},
            "shop/web fits on none of 9 nodes. Preemption would help: n1, evicting ns/p0, already being deleted.",
        ),
        (
            NOWHERE,
            {"preemption": preemption(("n1", 3, 0), terminating=1)},
            "shop/web fits on none of 9 nodes. Preemption would help: n1, evicting 3 pods, 1 of them already being "
            "deleted.",
        ),
        (
            NOWHERE,
            {"preemption": preemption(("n1", 1, 0), ("n2", 1, 0), nominated=2)},
            "shop/web fits on none of 9 nodes. Preemption would help: n1 or n2, evicting 1 pod.",
        ),
        (
            VerdictData(Outcome.GATED, "", (), None, 3, ""),
            {"gate": "waiting for x"},
            "shop/web is not tried: waiting for x. Otherwise it would fit on 3 of 9 nodes.",
        ),
        (
            VerdictData(Outcome.ERROR, "", (), None, 0, "no nodes"),
            {},
            "kube-scheduler returns an error for shop/web: no nodes",
        ),
    ],
    ids=[
        "a winner",
        "a single node",
        "a tie",
        "a tie with a seed",
        "nowhere",
        "preemption does not help",
        "one victim",
        "several victims",
        "a victim that is being deleted",
        "a victim of several that is being deleted",
        "several nodes",
        "gated",
        "an error",
    ],
)
def test_summary(verdict: VerdictData, more: dict[str, Any], text: str) -> None:
    given: dict[str, Any] = {"gate": "", "scores": None, "preemption": None, **more}
    assert summary(POD, verdict, n_nodes=9, **given) == text


def test_pod_that_runs() -> None:
    pod = replace(POD, node_name="n7")
    found = summary(pod, NOWHERE, n_nodes=1, gate="", scores=None, preemption=None, binding="runs on n7")
    assert found == "shop/web runs on n7. If rescheduled, it fits on none of 1 node."


def test_nominated_node() -> None:
    pod = replace(POD, nominated_node_name="n1")
    found = summary(pod, scheduled("n1", picked="n1"), n_nodes=9, gate="", scores=scores(5, 4), preemption=None)
    assert found == "shop/web fits on 5 of 9 nodes and is scheduled to n1, the node it is nominated to."


def test_a_pod_that_may_not_evict_is_not_told_that_evicting_would_not_help() -> None:
    never = replace(preemption(nominated=0), status=replace(FAILED, reasons=(NEVER,)))
    text = summary(POD, NOWHERE, n_nodes=9, gate="", scores=None, preemption=never)
    assert text == "shop/web fits on none of 9 nodes. It cannot preempt: its preemptionPolicy is Never."


def test_the_cause_is_in_the_first_line() -> None:
    text = summary(POD, NOWHERE, n_nodes=2, gate="", scores=None, preemption=None, cause="no node offers x")
    assert text == "shop/web fits on none of 2 nodes: no node offers x."


def test_nodes_that_another_filter_rejects_do_not_count() -> None:
    nodes = [make_node("a"), make_node("tainted", taints=["x:NoSchedule"]), make_node("small", cpu="1")]
    pods = [make_pod(f"on-{node.name}", node=node.name, requests={"cpu": "1"}) for node in nodes]
    decision = decide(make_pod(requests={"cpu": "3500m"}), make_cluster(nodes, pods))
    found = usage_data(decision, [node_data(decision, row) for row in range(3)])
    assert found is not None
    assert (found.nodes, [owner.owner for owner in found.owners]) == (1, ["Pod default/on-a"])

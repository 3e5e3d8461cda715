"""The example clusters keep what their READMEs promise."""

import pytest

import kschedctl
from kschedctl.objects.releases.release import RELEASES
from kschedctl.questions.volumes.overview import VolumeOverview
from kschedctl.trials.claim_action import ClaimAction
from tests.builders import load_engine
from tests.paths import ROOT

SHOP = ROOT / "fixtures" / "shop"
GPU = "nvidia.com/gpu"
CLUSTERS = {version: load_engine(SHOP / "cluster", kubernetes_version=version) for version in RELEASES}
CLUSTER = CLUSTERS["1.36"]
PODS = [f"{namespace}/{name}" for namespace, name in CLUSTER.pods.index]
DAEMONS = ("kube-proxy", "node-exporter")


def wants_gpu(pod: kschedctl.Pod) -> bool:
    return any(GPU in container.resources.requests for container in pod.spec.containers)


def test_nine_plain_and_six_gpu_nodes_in_three_zones() -> None:
    nodes = CLUSTER.nodes.objects
    assert sum(GPU in node.status.allocatable for node in nodes) == 6
    assert len(nodes) == 15
    assert len({node.metadata.labels["topology.kubernetes.io/zone"] for node in nodes}) == 3


def test_nothing_is_amiss_in_the_snapshot() -> None:
    assert CLUSTER.cluster.warnings == ()
    assert [pod for pod in PODS if CLUSTER.missing(pod)] == []


@pytest.mark.parametrize("version", RELEASES)
def test_pods_without_gpu_stay_off_gpu_nodes_and_pods_with_one_land_there(version: str) -> None:
    cluster = CLUSTERS[version]
    wrong = []
    manifests = [str(path) for path in sorted((SHOP / "manifests").glob("*.yaml"))]
    for pod in [*(pod for pod in PODS if not pod.partition("/")[2].startswith(DAEMONS)), *manifests]:
        on_gpu_node = {node.startswith("gpu-") for node in cluster.decide(pod).best}
        if on_gpu_node - {wants_gpu(cluster.find(pod)) or "nvidia-device-plugin" in pod}:
            wrong.append(pod)
    assert wrong == []


@pytest.mark.parametrize("pod", [pod for pod in PODS if CLUSTER.node_name(CLUSTER.find(pod))])
def test_every_running_pod_could_run_where_it_runs(pod: str) -> None:
    node = CLUSTER.node_name(CLUSTER.find(pod))
    verdict = CLUSTER.decide(pod).node(node)
    # node-9 was cordoned after its pods came.
    assert verdict.feasible or (node == "node-9" and verdict.status.plugin == "NodeUnschedulable")


@pytest.mark.parametrize(
    ("pod", "best"),
    [
        pytest.param("shop/web-7", ("node-8",), id="fits and has a clear winner"),
        pytest.param("shop/search-3", (), id="fits nowhere"),
        pytest.param("ml/train-1", ("gpu-5",), id="wants a GPU"),
    ],
)
def test_pending_pods(pod: str, best: tuple[str, ...]) -> None:
    assert CLUSTER.decide(pod).best == best


def test_gated_pod_is_not_tried() -> None:
    decision = CLUSTER.decide("batch/report-7")
    assert not decision.schedulable
    assert decision.pre_enqueue.plugin == "SchedulingGates"


def test_search_3_would_evict_a_report() -> None:
    decision = CLUSTER.decide("shop/search-3")
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == ("node-8",)


FOLDER = ROOT / "fixtures" / "volumes"
POD = "shop/reports-6f7d8c9b5d-x2k4q"
ZONE_A, ZONE_B = "eu-central-1a", "eu-central-1b"


@pytest.mark.parametrize("version", RELEASES)
def test_the_conflict_leaves_no_node(version: str) -> None:
    decision = load_engine(FOLDER / "conflict", kubernetes_version=version).decide(POD)
    assert decision.best == ()
    text = " ".join((FOLDER / "README.md").read_text().split())
    assert decision.message.startswith(text[text.index("0/5 nodes") : text.index(" The two are")])


def test_the_conflict_is_a_trap_of_its_class() -> None:
    cluster = load_engine(FOLDER / "conflict")
    found = VolumeOverview(cluster.cluster).pod(cluster.find(POD))
    assert (found.selected_zones, found.zones, found.conflict) == ((ZONE_A,), (ZONE_B,), True)
    trap = found.claims[0].trap
    assert trap is not None
    assert (trap.storage_class, trap.zones, trap.other_zones) == ("gp3", (ZONE_B,), (ZONE_A,))


@pytest.mark.parametrize("version", RELEASES)
def test_the_repair_lets_the_pod_choose(version: str) -> None:
    cluster = load_engine(FOLDER / "repair", kubernetes_version=version)
    assert cluster.decide(POD).best == ("memory-1", "memory-2")
    found = VolumeOverview(cluster.cluster).pod(cluster.find(POD))
    assert (found.zones, found.conflict, found.claims[0].trap) == ((), False, None)
    assert found.claims[0].outcome.action is ClaimAction.WAIT_FOR_POD


@pytest.mark.parametrize("snapshot", ["conflict", "repair"])
def test_nothing_is_amiss_in_the_snapshots(snapshot: str) -> None:
    cluster = load_engine(FOLDER / snapshot)
    assert cluster.cluster.warnings == ()
    assert not cluster.missing(POD)

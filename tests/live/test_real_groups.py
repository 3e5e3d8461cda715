"""Pod groups of a real API server: read, captured, watched, and admitted as it does it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from conformance.generate.groups_parts import APIS
from kschedctl.common.errors import ManifestError
from kschedctl.controllers.admission.priority import admit_pod_group
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup, Workload
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.sources.live.reader import load_live
from kschedctl.sources.snapshot.load import load_snapshot
from kschedctl.watch.cache import Cache
from kschedctl.watch.run import start
from tests.cli import in_process
from tests.live.conftest import node, pod
from tests.live.control_plane import ControlPlane, assets_release, missing_assets
from tests.objects.validation.groups import GATES, release_with

pytestmark = pytest.mark.live

GANG: Final = {"gang": {"minCount": 2}}
CLASSES: Final = [
    {"metadata": {"name": "polite"}, "value": 1000, "preemptionPolicy": "Never"},
    {"metadata": {"name": "base"}, "value": 7, "globalDefault": True},
]
#: Groups of which some are refused by admission.
SPECS: Final[list[dict[str, Any]]] = [
    {},
    {"priority": 7},
    {"priority": 8},
    {"priorityClassName": "base"},
    {"priorityClassName": "gone"},
    {"priorityClassName": "polite", "preemptionPolicy": "Never"},
    {"priorityClassName": "polite", "priority": 1},
    {"priorityClassName": "polite"},
]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    if missing := missing_assets():
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("groups"))
    try:
        gates = ",".join(f"{gate}=true" for gate in GATES[assets_release()])
        plane.start(f"--feature-gates={gates}", "--runtime-config=api/all=true")
        plane.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
        plane.create([{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **each} for each in CLASSES])
        plane.create_nodes([node("n", zone="a", cpu="4")])
        yield plane
    finally:
        plane.stop()


def made(kind: str, name: str, version: str = "", **spec: Any) -> dict[str, Any]:
    api_version = f"scheduling.k8s.io/{version}" if version else APIS[assets_release()].version
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


@pytest.fixture(scope="module")
def grouped(plane: ControlPlane) -> ControlPlane:
    """Return a cluster with a gang of one pod, its Workload, and since 1.37 a group of groups."""
    template = {"name": "workers", "schedulingPolicy": GANG}
    constraints = {"topology": [{"key": "topology.kubernetes.io/zone"}]}
    objects = [
        made("Workload", "llama", podGroupTemplates=[template]),
        made("PodGroup", "llama-workers", schedulingPolicy=GANG, schedulingConstraints=constraints),
    ]
    if assets_release() != "1.36":
        # Of v1beta1 since 1.38; both versions are served.
        ref = {"workloadName": "llama", "templateName": "workers"}
        objects.append(
            made(
                "CompositePodGroup",
                "all",
                "v1alpha3" if assets_release() == "1.37" else "v1beta1",
                schedulingPolicy={"gang": {"minGroupCount": 1}},
                schedulingConstraints=constraints,
                workloadRef=ref,
            )
        )
    member = pod("llama-0")
    member["metadata"]["namespace"] = "shop"
    member["spec"]["schedulingGroup"] = {"podGroupName": "llama-workers"}
    plane.create([*objects, member])
    return plane


def test_groups_are_read_and_captured(grouped: ControlPlane, tmp_path: Path) -> None:
    live = load_live(LiveContext(kubeconfig=str(grouped.kubeconfig))).cluster
    done = in_process.run("snapshot", "--kubeconfig", str(grouped.kubeconfig), "-o", str(tmp_path / "out"))
    assert done.code == 0, done.err
    for cluster in (live, load_snapshot([tmp_path / "out"]).cluster):
        group = cluster.get(PodGroup, "llama-workers", "shop")
        assert group is not None
        assert (group.spec.min_count, group.spec.priority) == (2, 7)
        assert group.spec.topology_keys == ("topology.kubernetes.io/zone",)
        assert not group.spec.disrupts_all
        assert [len(list(cluster.list(kind))) for kind in (Workload, CompositePodGroup)] == [
            1,
            assets_release() != "1.36",
        ]
        composite = cluster.get(CompositePodGroup, "all", "shop")
        if composite is not None:
            assert (composite.spec.min_group_count, composite.spec.priority) == (1, 7)
            assert composite.spec.topology_keys == group.spec.topology_keys
            assert (composite.spec.workload_name, composite.spec.disrupts_all) == ("llama", False)
        assert [record.spec.pod_group_name for record in cluster.pods.records] == ["llama-workers"]


def test_groups_are_watched(grouped: ControlPlane) -> None:
    watched = start(LiveContext(kubeconfig=str(grouped.kubeconfig)))
    try:
        cache = Cache(watched.snapshot.cluster)
        assert {kind for kind in watched.feed.reach if "Group" in kind} >= {"PodGroup"}
        assert "Workload" not in watched.feed.reach
        grouped.create([made("PodGroup", "new", schedulingPolicy={"basic": {}})])
        changes = watched.feed.take(10)
        assert cache.apply(changes)
        assert {group.name for group in cache.cluster.list(PodGroup)} == {"llama-workers", "new"}
        # No controller removes the finalizer that admission sets.
        free = '{"metadata": {"finalizers": null}}'
        grouped.kubectl("patch", "podgroups", "new", "-n", "shop", "--type=merge", "-p", free)
        grouped.kubectl("delete", "podgroups", "new", "-n", "shop")
        for _ in range(5):
            cache.apply(watched.feed.take(2, settle=0.5))
        assert {group.name for group in cache.cluster.list(PodGroup)} == {"llama-workers"}
    finally:
        watched.feed.stop()


@pytest.mark.parametrize("kind", [PodGroup, CompositePodGroup])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_groups_are_admitted_alike(
    plane: ControlPlane, spec: dict[str, Any], kind: type[PodGroup | CompositePodGroup]
) -> None:
    if "preemptionPolicy" in spec and assets_release() == "1.36":
        del (spec := {**spec})["preemptionPolicy"]
    cluster = load_live(LiveContext(kubeconfig=str(plane.kubeconfig))).cluster
    obj = made("PodGroup", "try", schedulingPolicy=GANG, **spec)
    if kind is CompositePodGroup:
        if assets_release() == "1.36":
            pytest.skip("1.36 has no groups of groups")
        ref = {"workloadName": "llama", "templateName": "workers"}
        policy: dict[str, Any] = {"basic": {}}
        obj = made("CompositePodGroup", "try", "v1alpha3", schedulingPolicy=policy, workloadRef=ref, **spec)
    release = release_with(assets_release())
    try:
        ours = admit_pod_group(msgspec.convert(obj, kind), cluster, release=release)
    except ManifestError as error:
        [finding] = error.findings
        with pytest.raises(AssertionError) as refused:
            plane.kubectl("create", "--dry-run=server", "-f", "-", given=obj)
        assert finding.problem in str(refused.value)
        return
    stored = msgspec.json.decode(
        plane.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", given=obj), type=kind
    )
    for name in ("priority", "priority_class_name", "preemption_policy"):
        assert getattr(ours.spec, name) == getattr(stored.spec, name), name


def test_a_server_without_groups_is_no_problem(tmp_path_factory: pytest.TempPathFactory) -> None:
    if missing := missing_assets():
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("none"))
    try:
        plane.start()
        plane.create_nodes([node("n", zone="a", cpu="4")])
        grouped = pod("llama-0")
        grouped["spec"]["schedulingGroup"] = {"podGroupName": "llama-workers"}
        plane.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, grouped])
        cluster = load_live(LiveContext(kubeconfig=str(plane.kubeconfig))).cluster
        assert cluster.warnings == ()
        assert list(cluster.list(PodGroup)) == []
        assert [record.spec.pod_group_name for record in cluster.pods.records] == [""]
    finally:
        plane.stop()

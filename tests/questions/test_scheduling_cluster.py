"""The cluster that ``kschedctl.load`` returns: its lists, its questions and its errors."""

import json
import re
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from lxml.html import fromstring

import kschedctl
from kschedctl.common.errors import ManifestError
from kschedctl.objects.workload import StatefulSet
from kschedctl.questions.optimum.analysis import purchase
from kschedctl.questions.optimum.request import Minimized
from kschedctl.trials.optimum.purchase import read_catalog
from tests.builders import make_object, make_pod
from tests.cli.in_process import AGE, run
from tests.paths import ROOT

SHOP = ROOT / "fixtures" / "shop" / "cluster"
POD: dict[str, Any] = {
    "metadata": {"name": "new", "namespace": "shop"},
    "spec": {"containers": [{"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}]},
}


@pytest.fixture(scope="module")
def shop() -> kschedctl.SchedulingCluster:
    return kschedctl.load(SHOP)


def test_the_release_is_that_of_the_cluster(shop: kschedctl.SchedulingCluster) -> None:
    assert shop.engine.release_choice.release.version == "1.36"


@pytest.mark.parametrize(
    ("kind", "n", "first", "last", "name", "absent"),
    [
        ("nodes", 15, "node-1", "gpu-6", "node-8", "node-88"),
        ("pods", 77, "batch/report-1", "kube-system/metrics-server-1", "shop/web-6", "shop/web-70"),
    ],
)
def test_objects_are_found_by_position_and_by_name(
    shop: kschedctl.SchedulingCluster, kind: str, n: int, first: str, last: str, name: str, absent: str
) -> None:
    objects: Any = getattr(shop, kind)
    assert repr(objects) == f"<{n} {kind}>"
    every = list(objects)
    assert (len(objects), len(every)) == (n, n)
    keys = [one.key if kind == "pods" else one.name for one in every]
    assert (keys[0], keys[-1]) == (first, last)
    assert (objects[0], objects[-1], list(objects[1:3])) == (every[0], every[-1], every[1:3])
    assert objects[name] == every[keys.index(name)]
    assert [one in objects for one in (name, every[0], absent)] == [True, True, False]
    with pytest.raises(kschedctl.InputError, match=f"no {kind[:-1]} {absent}"):
        objects[absent]
    with pytest.raises(IndexError):
        objects[n]


def test_every_pod_is_on_its_own_node(shop: kschedctl.SchedulingCluster) -> None:
    nodes = shop.pods.to_frame("polars")["node"].to_list()
    assert [pod.spec.node_name or None for pod in shop.pods] == nodes
    assert [shop.pods[i].spec.node_name or None for i in range(len(nodes))] == nodes
    # Pods of one workload share what is equal, and their nodes are not.
    assert len({shop.pods[f"shop/web-{i}"].spec.node_name for i in range(1, 5)}) > 1


def test_pod_can_be_given_in_every_way(shop: kschedctl.SchedulingCluster, tmp_path: Path) -> None:
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **POD}))
    pod = make_pod("new", namespace="shop", requests={"cpu": "1"}, priority=100)
    given: list[Any] = [POD, manifest, str(manifest), pod]
    best = {shop.decide(one).best for one in given}
    assert len(best) == 1
    assert best != {()}


def test_pod_of_the_cluster_is_named(shop: kschedctl.SchedulingCluster) -> None:
    decision = shop.decide("shop/search-3")
    assert not decision.schedulable
    assert decision.message.startswith("0/15 nodes are available: ")


def test_running_pod_gives_its_node_free() -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a"},
        "status": {"allocatable": {"cpu": "1", "pods": "1"}},
    }
    spec = {"nodeName": "a", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    running = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    cluster = loaded(node, running)
    assert cluster.engine.node_name(cluster.pods["default/p"]) == "a"
    assert cluster.decide("default/p").best == ("a",)
    # Another pod finds no room there.
    assert cluster.decide({"metadata": {"name": "q"}, "spec": {"containers": spec["containers"]}}).best == ()


def loaded(*objects: dict[str, Any], **options: Any) -> kschedctl.SchedulingCluster:
    from io import BytesIO

    text = "\n".join(json.dumps(obj) for obj in objects)
    return kschedctl.load("-", stdin=BytesIO(text.encode()), **options)


def test_new_pod_is_admitted(shop: kschedctl.SchedulingCluster) -> None:
    pod = {**POD, "spec": {**POD["spec"], "priorityClassName": "shop-critical"}}
    assert shop.decide(pod).pod.spec.priority == 1000


def test_admission_tells_what_it_changes_in_what_was_written(shop: kschedctl.SchedulingCluster) -> None:
    pod = {**POD, "spec": {**POD["spec"], "priorityClassName": "shop-critical"}}
    admitted = shop.engine.admit(pod)
    changes = {change.path: (change.plugin, change.before, change.after) for change in admitted.changes}
    assert changes["spec.schedulerName"] == ("defaults", None, "default-scheduler")
    assert changes["spec.priority"] == ("Priority", None, 1000)
    # What the cluster has stored is as it is.
    assert shop.engine.admit("shop/web-7").changes == ()
    assert shop.engine.decide_admitted(admitted.pod).best == shop.decide(pod).best


def test_without_admission_a_pod_gets_its_defaults_alone() -> None:
    cluster = kschedctl.load(SHOP, admission=False)
    pod = {**POD, "spec": {**POD["spec"], "priorityClassName": "shop-critical"}}
    assert cluster.decide(pod).pod.spec.priority is None
    assert cluster.decide(pod).pod.spec.scheduler_name == "default-scheduler"
    assert cluster.engine.snapshot.changes == ("new pods are not admitted",)


def test_everything_that_admission_warns_of_is_missing(shop: kschedctl.SchedulingCluster) -> None:
    pod = {**POD, "spec": {**POD["spec"], "priorityClassName": "urgent", "runtimeClassName": "gvisor"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    # What the snapshot has was created in a cluster that has the classes.
    bare = loaded(node, {"apiVersion": "v1", "kind": "Pod", **pod})
    assert len(bare.engine.admit("shop/new").warnings) == 2
    assert {"PriorityClass", "RuntimeClass"} <= {lack.kind for lack in bare.engine.missing("shop/new")}
    with pytest.raises(ManifestError, match="no PriorityClass with name urgent was found"):
        loaded(node).engine.admit(pod)


def test_pods_of_a_workload_are_decided_for_with_what_comes_with_them(shop: kschedctl.SchedulingCluster) -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"storageClassName": "gp3"}}
    template = {"metadata": {"labels": {"app": "db"}}, "spec": POD["spec"]}
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "db"}},
        "template": template,
        "volumeClaimTemplates": [claim],
    }
    made = shop.engine.pods_of(make_object(StatefulSet, "db", namespace="shop", spec=spec))
    assert [one.pod.key for one in made] == ["shop/db-0", "shop/db-1"]
    assert "not found" in shop.decide(made[0].pod).message
    cluster = shop.engine.with_made(made)
    assert all(cluster.decide(one.pod).best for one in made)
    # The pods are not there, and the first cluster is as it was.
    assert ("shop", "db-0") not in cluster.pods.index
    assert shop.engine.cluster.get(StatefulSet, "db", "shop") is None


def test_version_gates_and_configuration() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "mine"}],
    }
    cluster = kschedctl.load(SHOP, kubernetes_version="1.35", feature_gates={"PodLevelResources": False}, config=config)
    assert cluster.engine.release_choice.release.version == "1.35"
    assert not cluster.engine.release_choice.release.enabled("PodLevelResources")
    assert list(cluster.engine.configuration.profiles) == ["mine"]
    with pytest.raises(kschedctl.InputError, match='no profile is named "default-scheduler"'):
        cluster.decide(POD)


@pytest.mark.parametrize(
    ("pod", "problem"),
    [
        ("shop/none", "the snapshot has no pod shop/none"),
        ("none.yaml", "there is no such file"),
        ({"kind": "Deployment", "apiVersion": "apps/v1"}, "is not a Pod"),
        ({"spec": {"containers": 5}}, "containers"),
        ({"spec": {"containers": [{"resources": {"requests": {"cpu": "x"}}}]}}, '"x" is not a quantity'),
        ({"spec": {"containers": object()}}, "contains a value that JSON cannot represent"),
        (
            {
                "spec": {
                    "topologySpreadConstraints": [
                        {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "?"}]}}
                    ]
                }
            },
            "is not a selector operator",
        ),
    ],
)
def test_wrong_pods_are_refused(shop: kschedctl.SchedulingCluster, pod: Any, problem: str) -> None:
    with pytest.raises(kschedctl.InputError, match=problem):
        shop.decide(pod)


def test_missing_configuration_is_an_error() -> None:
    with pytest.raises(kschedctl.InputError, match=r"none\.yaml: cannot be read: No such file"):
        kschedctl.load(SHOP, config="none.yaml")


@pytest.mark.parametrize(
    ("pod", "shown"),
    [
        ("shop/web-7", "<Decision shop/web-7: scheduled to node-8, fits on 5 of 15 nodes>"),
        ("shop/search-3", "<Decision shop/search-3: unschedulable, fits on 0 of 15 nodes>"),
        ("batch/report-7", "<Decision batch/report-7: gated, fits on 2 of 15 nodes>"),
    ],
)
def test_a_decision_is_shown_on_a_line(shop: kschedctl.SchedulingCluster, pod: str, shown: str) -> None:
    assert repr(shop.decide(pod)) == shown


def test_clusters_and_verdicts_are_shown_on_a_line(shop: kschedctl.SchedulingCluster) -> None:
    cordoned = kschedctl.load(SHOP, edits=[kschedctl.Cordon("node-8")])
    decision = shop.decide("shop/web-7")
    assert [
        repr(one) for one in (shop, cordoned, shop.engine.cluster, decision.node("node-8"), decision.node("node-9"))
    ] == [
        "<SchedulingCluster: 15 nodes, 77 pods, rules of Kubernetes 1.36>",
        "<SchedulingCluster: 15 nodes, 77 pods, rules of Kubernetes 1.36, 1 change>",
        "<Cluster: 15 nodes, 77 pods, v1.36.1>",
        "<NodeVerdict node-8: fits>",
        "<NodeVerdict node-9: NodeUnschedulable: node(s) were unschedulable>",
    ]


def test_preemption_is_that_of_the_decision(shop: kschedctl.SchedulingCluster) -> None:
    found = shop.preempt("shop/search-3")
    assert [candidate.name for candidate in found.chosen] == ["node-8"]
    assert shop.decide("shop/search-3").victims == {"node-8": ("batch/report-6",)}
    assert shop.preempt("shop/web-7").candidates == ()
    assert shop.decide("shop/web-7").victims == {}


def test_claims_are_found_by_name_and_by_their_pod() -> None:
    cluster = kschedctl.load(SHOP.parents[1] / "volumes" / "conflict")
    claim = cluster.volumes(claim="shop/figures")
    assert isinstance(claim, kschedctl.ClaimVolumes)
    found = cluster.volumes("shop/reports-6f7d8c9b5d-x2k4q")
    assert isinstance(found, kschedctl.PodVolumes)
    assert [each.name for each in found.claims] == [claim.claim.name]
    assert (claim.claim.zones, found.conflict) == (("eu-central-1b",), True)
    with pytest.raises(
        kschedctl.InputError, match="has no PersistentVolumeClaim shop/figure\n  did you mean shop/figures"
    ):
        cluster.volumes(claim="shop/figure")


def test_clusters_differ_in_what_they_decide(shop: kschedctl.SchedulingCluster) -> None:
    cordoned = kschedctl.load(SHOP, edits=[kschedctl.Cordon("node-8")])
    found = {pod.key: pod for pod in shop.diff(cordoned).changed}
    assert found["shop/web-7"].parts == ("winner", "nodes")
    assert "victims" in found["shop/search-3"].parts
    assert shop.diff(shop).changed == ()
    # A pod as data is there on both sides; one that a side lacks has no outcome there.
    assert "winner" in shop.diff(cordoned, [POD]).changed[0].parts
    without = kschedctl.load(SHOP, edits=[kschedctl.Delete("pod", "web-7", "shop")])
    (gone,) = shop.diff(without, ["shop/web-7"]).changed
    assert (gone.after.outcome, gone.parts[0]) == ("absent", "outcome")
    with pytest.raises(kschedctl.InputError, match="no pod shop/web-77"):
        shop.diff(without, ["shop/web-77"])


def test_pods_that_wait_are_simulated_as_edits_make_them() -> None:
    sizes = [("100m", 3), ("100", 0)]
    for size, n_placed in sizes:
        edits = [kschedctl.SetRequest.parse(f"cpu={size}")]
        simulation = kschedctl.load(SHOP, edits=edits).engine.simulation()
        assert len([attempt for attempt in simulation if attempt.node]) == n_placed, size


def test_lint_goes_by_the_given_cluster() -> None:
    manifests = SHOP.parent / "manifests"
    answer = kschedctl.lint(manifests, cluster=kschedctl.load(SHOP), select=["KS501"])
    assert [found.object for found in answer.findings] == ["Pod/ml/train-3", "Pod/data/warehouse-0"]
    assert not answer.outcome.yes
    untainted = kschedctl.load(SHOP, edits=[kschedctl.TaintNode.parse("gpu-*:nvidia.com/gpu-")])
    answer = kschedctl.lint(manifests, cluster=untainted, select=["KS501"])
    assert [found.object for found in answer.findings] == ["Pod/data/warehouse-0"]
    assert kschedctl.lint([manifests], select=["KS501"]).findings == ()


def test_lint_goes_by_the_feature_gates(tmp_path: Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  schedulingGroup: {podGroupName: g}\n"
    tmp_path.joinpath("pod.yaml").write_text(f"{pod}  containers: [{{name: a, image: a}}]\n")
    for gates, rules in ((None, ["KS706"]), ({"GenericWorkload": True}, [])):
        answer = kschedctl.lint(tmp_path, feature_gates=gates)
        assert [found.rule for found in answer.findings] == rules


def test_lint_refuses_paths_that_are_not_there() -> None:
    with pytest.raises(kschedctl.InputError, match=r"none\.yaml: there is no such file"):
        kschedctl.lint("none.yaml")


CATALOG = """
kinds:
- name: big
  price: 1.5
  allocatable: {cpu: 16, memory: 64Gi, pods: 110}
"""


def test_optimum_purchase_and_emptied_nodes(shop: kschedctl.SchedulingCluster, tmp_path: Path) -> None:
    best = shop.optimum(goal=kschedctl.FinalGoal.NODES)
    assert isinstance(best, kschedctl.Optimum)
    assert (best.pods, best.placed, best.multi_step_placed) == (3, 3, 3)
    emptied = shop.optimum(minimize=Minimized.NODES)
    assert isinstance(emptied, kschedctl.Emptied)
    assert emptied.outcome.yes
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(CATALOG)
    bought = shop.optimum(buy=str(catalog))
    assert isinstance(bought, kschedctl.Purchased)
    assert bought.outcome == purchase(shop.engine, read_catalog(str(catalog)), kschedctl.AnalysisHandle()).outcome


def test_leader_without_leases_is_not_known(shop: kschedctl.SchedulingCluster) -> None:
    answer = shop.leader()
    assert answer.elections == ()
    assert not answer.outcome.complete


def test_one_name_needs_no_list(shop: kschedctl.SchedulingCluster) -> None:
    assert shop.simulate("shop/web-7").summary == shop.simulate(["shop/web-7"]).summary
    assert [node.node for node in shop.drain("node-1").nodes] == ["node-1"]
    answer = kschedctl.lint(SHOP.parent / "manifests", cluster=SHOP, select="KS501")
    assert [found.object for found in answer.findings] == ["Pod/ml/train-3", "Pod/data/warehouse-0"]


def test_what_ifs_leave_the_cluster_as_it_is(shop: kschedctl.SchedulingCluster) -> None:
    cordoned = shop.what_if(kschedctl.Cordon("node-8"))
    assert cordoned.explain("shop/web-7").verdict.nodes == ("node-5",)
    assert cordoned.explain("shop/web-7").snapshot.changes == ("node node-8 is cordoned",)
    both = cordoned.what_if(cordon=["node-5", "node-2"], set_request="cpu=600m")
    assert len(both.engine.snapshot.changes) == 4
    assert both.engine.find("shop/web-7").spec.containers[0].resources.requests["cpu"] == "600m"
    assert shop.explain("shop/web-7").verdict.nodes == ("node-8",)


@pytest.mark.parametrize(
    ("edits", "options"),
    [
        ([kschedctl.Cordon("node-8")], {"cordon": "node-8"}),
        ([kschedctl.FailZone("eu-central-1a")], {"fail_zone": "eu-central-1a"}),
        ([kschedctl.SetRequest.parse("cpu=2")], {"set_request": "cpu=2"}),
        ([kschedctl.TaintNode.parse("gpu-*:nvidia.com/gpu-")], {"taint": "gpu-*:nvidia.com/gpu-"}),
    ],
    ids=["cordon", "fail_zone", "set_request", "taint"],
)
def test_what_ifs_mean_the_same_at_load_as_objects_and_by_option(
    shop: kschedctl.SchedulingCluster, edits: list[kschedctl.Edit], options: dict[str, str]
) -> None:
    answers = [
        cluster.explain("shop/search-3").to_dict()
        for cluster in (kschedctl.load(SHOP, edits=edits), shop.what_if(*edits), shop.what_if(**options))
    ]
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"cordn": "node-8"}, '"cordn" is no what-if'),
        ({"cordon": "node-88"}, "has no node node-88"),
        ({"set_priority": "high"}, "high"),
    ],
)
def test_wrong_what_ifs_are_refused(shop: kschedctl.SchedulingCluster, options: dict[str, str], problem: str) -> None:
    with pytest.raises(kschedctl.InputError, match=problem):
        shop.what_if(**options)


def test_an_answer_is_a_dictionary_as_the_command_prints_it(shop: kschedctl.SchedulingCluster) -> None:
    answer = shop.explain("shop/web-7").to_dict()
    printed = run("explain", "shop/web-7", "--snapshot", str(SHOP), "-o", "json").out
    assert answer == json.loads(printed)
    assert list(answer)[:2] == ["apiVersion", "kind"]


ASKED: dict[str, Callable[[kschedctl.SchedulingCluster], Any]] = {
    "explain shop/web-7": lambda shop: shop.explain("shop/web-7"),
    "preempt shop/search-3": lambda shop: shop.preempt("shop/search-3"),
    "nodes": lambda shop: shop.nodes(),
    "drain node-8 --ignore-daemonsets": lambda shop: shop.drain("node-8", ignore_daemonsets=True),
    "leader": lambda shop: shop.leader(),
}


@pytest.mark.parametrize("wide", [False, True], ids=["plain", "wide"])
@pytest.mark.parametrize("width", [0, 40, 80, 160])
@pytest.mark.parametrize("command", ASKED)
def test_an_answer_is_text_as_the_command_prints_it(
    shop: kschedctl.SchedulingCluster, command: str, width: int, *, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kschedctl.questions.frame.age", lambda *_: AGE)
    form = ("-o", "wide") if wide else ()
    printed = run(*command.split(), "--snapshot", str(SHOP), *form, columns=width).out
    shown = ASKED[command](shop).to_text(width, wide=wide)
    assert printed.startswith(shown)
    # After it come the commands that it suggests, and they alone.
    assert all(f" --snapshot {SHOP}" in line for line in printed.removeprefix(shown).splitlines() if line)


def test_an_answer_is_printed_and_shown_on_a_line(
    shop: kschedctl.SchedulingCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    answer = shop.leader()
    assert str(answer) == answer.to_text(60)
    assert max(map(len, str(answer).splitlines())) <= 60
    assert repr(answer) == (
        "<LeaderOverview: The leader of the schedulers is unknown: there is no Lease kube-system/kube-scheduler.>"
    )


def test_an_answer_is_json_on_a_line(shop: kschedctl.SchedulingCluster) -> None:
    answer = shop.explain("shop/web-7")
    assert "\n" not in answer.to_json()
    assert list(json.loads(answer.to_json()).items()) == list(answer.to_dict().items())


def texts(html: str) -> str:
    """Return the text of HTML, without its markup and style."""
    found = fromstring(html)
    for style in found.iter("style"):
        style.text = ""
    return " ".join(" ".join(found.itertext()).split())


def test_an_answer_is_shown_as_html_in_notebooks(shop: kschedctl.SchedulingCluster) -> None:
    shown = texts(shop.explain("shop/search-3")._repr_html_())
    assert shown.startswith("shop/search-3 fits on none of 15 nodes")
    assert "nodes plugin reason" in shown


@pytest.mark.parametrize(
    ("what_if", "shown"),
    [
        ({}, "4 of 77 pods are pending: shop/search-3, shop/web-7, ml/train-1 and batch/report-7 15 nodes"),
        ({"delete": "pod/shop/web-7"}, "3 of 76 pods are pending: shop/search-3, ml/train-1 and batch/report-7"),
        ({"fail_zone": "eu-central-1c"}, "pods are pending: "),
    ],
)
def test_a_cluster_is_shown_with_its_pending_pods_and_nodes(
    shop: kschedctl.SchedulingCluster, what_if: dict[str, str], shown: str
) -> None:
    assert shown in texts(shop.what_if(**what_if)._repr_html_())


def test_an_empty_cluster_is_shown() -> None:
    assert "no pod is pending" in texts(loaded(make_node_manifest("a"))._repr_html_())


def make_node_manifest(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": "1"}}}


def test_a_simulation_is_shown_as_far_as_it_ran(shop: kschedctl.SchedulingCluster) -> None:
    simulation = shop.engine.simulation()
    assert texts(simulation._repr_html_()).startswith("0 placed, 4 pending after 0.0")
    next(iter(simulation))
    assert "0 placed, 5 pending, 1 evicted after 0.006 s" in texts(simulation._repr_html_())
    list(simulation)
    shown = texts(simulation._repr_html_())
    assert "4 placed, 1 pending, 1 evicted after 30.006 s of virtual time" in shown
    assert "in place of batch/report-6" in shown


def test_an_object_of_a_derived_class_is_shown_as_its_base(shop: kschedctl.SchedulingCluster) -> None:
    class Own(kschedctl.SchedulingCluster):
        pass

    own = Own(shop.engine)
    assert "4 of 77 pods are pending" in texts(own._repr_html_())


@pytest.mark.parametrize("shown", ["cluster", "answer", "simulation"])
def test_html_contains_no_markup_of_the_cluster(shown: str) -> None:
    name = "<script>alert(1)</script>\u202e"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c"}]}}
    cluster = loaded({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}, pod)
    simulation = cluster.engine.simulation()
    list(simulation)
    html = {"cluster": cluster, "answer": cluster.nodes(), "simulation": simulation}[shown]._repr_html_()
    assert "<script>" not in html
    assert "\u202e" not in html
    assert "&lt;script&gt;" in html


def test_nodes_and_pods_are_data_frames(shop: kschedctl.SchedulingCluster) -> None:
    nodes = shop.what_if(cordon="node-8").nodes.to_frame("polars")
    (row,) = nodes.filter(nodes["name"] == "node-8").rows(named=True)
    # 3.92 cpu, of which the pods on the node request 1.9, and 14Gi.
    assert (row["allocatable.cpu_milli"], row["requested.cpu_milli"], row["free.cpu_milli"]) == (3920, 1900, 2020)
    assert (row["allocatable.memory_bytes"], row["allocatable.nvidia.com/gpu"]) == (14 * 2**30, 0)
    assert (row["unschedulable"], row["available"], row["problem"]) == (True, False, None)
    assert row["taints"] == "node.kubernetes.io/unschedulable:NoSchedule"
    pods = shop.pods.to_frame("polars")
    assert len(pods) == len(shop.pods)
    (row,) = pods.filter(pods["name"] == "train-1").rows(named=True)
    assert (row["workload_kind"], row["workload"], row["node"], row["phase"]) == ("Job", "train", None, "Pending")
    assert (row["requested.cpu_milli"], row["requested.nvidia.com/gpu"], row["terminating"]) == (8000, 1, False)


def test_the_frame_of_an_explanation_has_a_row_per_node(shop: kschedctl.SchedulingCluster) -> None:
    frame = shop.explain("shop/web-7").to_frame("polars")
    assert len(frame) == 15
    (best,) = frame.filter(frame["node"] == "node-8").rows(named=True)
    assert best["score"] == sum(points for name, points in best.items() if name.startswith("score."))
    (other,) = frame.filter(frame["node"] == "gpu-1").rows(named=True)
    assert (other["fits"], other["plugin"], other["score"]) == (False, "TaintToleration", None)
    assert shop.explain("shop/search-3").to_frame("polars")["fits"].any() is False


def test_a_cluster_without_pods_has_a_frame_with_the_same_columns() -> None:
    frame = loaded(make_node_manifest("a")).pods.to_frame("polars")
    assert (len(frame), str(frame.schema["created"])) == (0, "Datetime(time_unit='us', time_zone='UTC')")


@pytest.mark.parametrize("case", [0, 19])
def test_a_case_that_the_plan_does_not_have_is_an_error(case: int) -> None:
    with pytest.raises(kschedctl.InputError, match=f"the plan has no case {case}"):
        kschedctl.case_configuration(ROOT / "fixtures" / "shop" / "sweeps" / "tuning.yaml", case)


def test_a_cluster_is_saved_with_its_what_ifs(shop: kschedctl.SchedulingCluster, tmp_path: Path) -> None:
    cordoned = shop.what_if(cordon="node-8")
    cordoned.save(tmp_path / "after")
    read = kschedctl.load(tmp_path / "after")
    assert read.explain("shop/web-7").verdict == cordoned.explain("shop/web-7").verdict
    assert kschedctl.snapshot_info(tmp_path / "after").kinds["Node"] == 15
    shop.save(tmp_path / "report.tar.gz", anonymize=True)
    assert kschedctl.snapshot_info(tmp_path / "report.tar.gz").anonymized
    with pytest.raises(kschedctl.InputError):
        shop.save(tmp_path / "report.tar.gz")


def test_explain_has_the_options_of_the_command(shop: kschedctl.SchedulingCluster) -> None:
    answer = shop.explain("shop/web-7", prefer="node-5", withstand=True, sampling=True)
    assert answer.search is not None
    assert answer.search.followed
    assert shop.verify(sampling=True).choices
    assert (answer.preference.node if answer.preference else "", answer.withstanding is not None) == ("node-5", True)


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        pytest.param(lambda shop: shop.explain(("shop/web-7",)), "a pod is expected, not tuple", id="pods in a tuple"),
        pytest.param(lambda shop: shop.explain(), "names no pod", id="no pod"),
        pytest.param(lambda shop: shop.drain("node-1", surge=2000), "2000 is more than 1000", id="too many"),
        pytest.param(lambda shop: shop.optimum(time_limit=float("nan")), "nan is less than 0.1", id="no number"),
        pytest.param(lambda shop: shop.optimum(goal="fun"), '"fun" is not one of scores, nodes', id="no such goal"),
        pytest.param(lambda shop: shop.devices("a", device_class="b"), "device_class: cannot be combined", id="both"),
        pytest.param(
            lambda shop: shop.volumes("a/b", claim="c/d"), "claim: cannot be combined with pod", id="both of volumes"
        ),
        pytest.param(lambda shop: shop.nodes(selector="a=b"), "selector: no node matches", id="an option by its name"),
    ],
)
def test_wrong_arguments_are_errors_with_their_names(
    shop: kschedctl.SchedulingCluster, ask: Callable[[kschedctl.SchedulingCluster], object], problem: str
) -> None:
    with pytest.raises(kschedctl.InputError, match=re.escape(problem)):
        ask(shop)


def test_unknown_arguments_are_told_with_the_name_of_the_method(shop: kschedctl.SchedulingCluster) -> None:
    with pytest.raises(
        TypeError, match=r"^explain\(\) got an unexpected keyword argument 'nodes'; did you mean node\?$"
    ):
        shop.explain("shop/web-7", nodes="node-8")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^drain\(\) too many positional arguments$"):
        shop.drain("node-1", "node-2")  # type: ignore[call-arg,arg-type]


def test_a_method_of_the_class_takes_the_cluster(shop: kschedctl.SchedulingCluster) -> None:
    answer = kschedctl.SchedulingCluster.explain(shop, "shop/web-7")  # type: ignore[call-arg,arg-type]
    assert answer == shop.explain("shop/web-7")
    assert list(signature(shop.nodes).parameters)[:2] == ["nodes", "selector"]

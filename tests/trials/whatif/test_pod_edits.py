"""Edits of the pods that are asked about: the same as editing the manifest by hand, and what stored pods keep."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.common.errors import InputError
from kschedctl.objects.core import Taint
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import NANO
from kschedctl.objects.resources import RequestRules, pod_requests
from kschedctl.objects.workload import StatefulSet
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.trials.whatif.edit import PodEdit
from kschedctl.trials.whatif.edits import (
    EDITS,
    Cordon,
    DropConstraint,
    SetNodeSelector,
    SetPriority,
    SetRequest,
    TaintNode,
    Tolerate,
)
from tests.builders import ZONE, make_cluster, make_node, make_object, make_pod
from tests.example_counts import scaled
from tests.strategies import World, worlds
from tests.trials.whatif.pods import cases_of, edited_spec, loaded, manifest, outcome

ASPECTS = ("requests", "tolerations", "nodeSelector", "nodeAffinity", "podAffinity", "spread")


def requesting(spec: dict[str, Any]) -> None:
    whose = spec if "cpu" in spec.get("resources", {}).get("requests", {}) else spec["containers"][0]
    whose.setdefault("resources", {}).setdefault("requests", {})["cpu"] = "1500m"


def tolerating(spec: dict[str, Any]) -> None:
    added = {"key": "app", "operator": "Equal", "value": "a", "effect": "NoSchedule"}
    spec["tolerations"] = [*spec.get("tolerations", ()), added]


def not_tolerating(spec: dict[str, Any]) -> None:
    spec["tolerations"] = [own for own in spec.get("tolerations", ()) if own.get("key") != "app"]


def of_class(name: str) -> Callable[[dict[str, Any]], None]:
    def change(spec: dict[str, Any]) -> None:
        spec.pop("priority", None)
        spec["priorityClassName"] = name

    return change


def selecting(spec: dict[str, Any]) -> None:
    spec["nodeSelector"] = {**spec.get("nodeSelector", {}), "disk": "ssd"}


def not_selecting(spec: dict[str, Any]) -> None:
    spec.get("nodeSelector", {}).pop("disk", None)


def not_spread(spec: dict[str, Any]) -> None:
    own = spec.get("topologySpreadConstraints", ())
    spec["topologySpreadConstraints"] = [one for one in own if one["topologyKey"] != ZONE]


def without(name: str) -> Callable[[dict[str, Any]], None]:
    def change(spec: dict[str, Any]) -> None:
        spec.get("affinity", {}).pop(name, None)

    return change


#: An edit, and what it is by hand.
BY_HAND: tuple[tuple[PodEdit, Callable[[dict[str, Any]], None]], ...] = (
    (SetRequest("cpu", "1500m"), requesting),
    (Tolerate("app", "a", "NoSchedule"), tolerating),
    (Tolerate("app", remove=True), not_tolerating),
    (SetPriority("high"), of_class("high")),
    (SetPriority("meek"), of_class("meek")),
    # As if there were a class of that value.
    (SetPriority(1000), of_class("high")),
    (SetNodeSelector("disk", "ssd"), selecting),
    (SetNodeSelector("disk", None), not_selecting),
    (DropConstraint("spread", ZONE), not_spread),
    (DropConstraint("spread"), lambda spec: spec.update(topologySpreadConstraints=[])),
    (DropConstraint("affinity"), without("podAffinity")),
    (DropConstraint("anti-affinity"), without("podAntiAffinity")),
    (DropConstraint("node-affinity"), without("nodeAffinity")),
)


def test_every_edit_of_pods_is_compared_with_editing_by_hand() -> None:
    assert {type(edit) for edit, _ in BY_HAND} == {edit for edit in EDITS if issubclass(edit, PodEdit)}


def written_by_hand(pod: Pod) -> dict[str, Any]:
    """A pod as its manifest, without what an API server refuses in one whatever an edit does."""
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(pod))
    spec = data["spec"]
    spec.pop("overhead", None)
    for i, container in enumerate(spec.get("initContainers", ())):
        container["name"] = f"init-{i}"
    for constraint in spec.get("topologySpreadConstraints", ()):
        if constraint["whenUnsatisfiable"] != "DoNotSchedule":
            constraint.pop("minDomains", None)
    own = spec.get("tolerations", ())
    spec["tolerations"] = [one for one in own if ("value" in one) != (one["operator"] == "Exists") and "key" in one]
    return data


@pytest.mark.parametrize(("edit", "by_hand"), BY_HAND, ids=[str(edit) for edit, _ in BY_HAND])
@settings(max_examples=scaled(40))
@given(world=worlds(*ASPECTS, of_nodes=("labels", "taints", "offers"), pending=1))
def test_an_edit_is_what_the_same_change_of_the_manifest_is(
    edit: PodEdit, by_hand: Callable[[dict[str, Any]], None], world: World
) -> None:
    written = written_by_hand(world.pods[-1])
    changed = deepcopy(written)
    by_hand(changed["spec"])
    others = [*world.nodes, *world.pods[:-1], *world.namespaces]
    expected = outcome(loaded(others), changed)
    assert outcome(loaded(others, edit), written) == expected
    # Another pod of the cluster, which was admitted when it was made; what is refused of a new one is not looked at.
    stored = default_pod(msgspec.convert({**written, "spec": {**written["spec"], "priority": 0}}, Pod))
    if isinstance(expected, bytes):
        assert outcome(loaded([*others, stored], edit), stored.key) == expected


@given(world=worlds(*ASPECTS, pending=1), which=st.sampled_from(BY_HAND))
def test_an_edit_made_twice_is_made_once(world: World, which: tuple[PodEdit, object]) -> None:
    edit, _ = which
    cluster = loaded([])
    once = edit.apply_to_pod(world.pods[-1], cluster.cluster)
    assert edit.apply_to_pod(once, cluster.cluster) == once


def test_a_stored_pod_is_decided_for_as_edited_without_another_admission() -> None:
    pod = make_pod("web", requests={"cpu": "1"}, priority=7, preemptionPolicy="Never")
    node = make_node("a", taints=["gpu=true:NoSchedule"])
    assert loaded([node, pod]).decide("default/web").best == ()
    cluster = loaded([node, pod], Tolerate("gpu", effect="NoSchedule"), SetPriority(9))
    decision = cluster.decide("default/web")
    assert decision.best == ("a",)
    spec = decision.pod.spec
    assert (spec.priority, spec.preemption_policy, len(spec.tolerations)) == (9, "Never", 1)
    assert cluster.snapshot.changes == ("the pod tolerates gpu:NoSchedule", "the pod has priority 9")
    # The cluster is as it was.
    assert cluster.pods.pod(0) == pod


def test_a_priority_takes_effect_without_admission_too() -> None:
    for priority, expected in (("meek", (500, "Never")), (9, (9, ""))):
        spec = loaded([make_node()], SetPriority(priority), admission=False).decide(manifest({})).pod.spec
        assert (spec.priority, spec.preemption_policy) == expected


def test_edits_of_pods_come_after_those_of_the_cluster() -> None:
    gpu = Taint(key="gpu", effect="NoSchedule")
    cluster = loaded([make_node("a")], Tolerate("gpu"), TaintNode("a", gpu))
    assert cluster.snapshot.changes == ("node a has the taint gpu:NoSchedule", "the pod tolerates gpu")
    assert cluster.decide(manifest({})).best == ("a",)


def test_pods_that_a_workload_makes_are_edited() -> None:
    template = {"metadata": {"labels": {"app": "db"}}, "spec": manifest({})["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "db"}}, "template": template}
    spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": {}}]
    cluster = loaded([make_node()], SetRequest("cpu", "3"))
    made = cluster.pods_of(make_object(StatefulSet, "db", namespace="default", spec=spec))
    assert cluster.with_made(made).admit(made[0].pod).pod.spec.containers[0].resources.requests == {"cpu": "3"}


def test_an_edit_that_changes_nothing_in_a_pod_is_told() -> None:
    cluster = loaded([make_node()], DropConstraint("affinity"), SetRequest("cpu", "1"), Tolerate("gpu"))
    assert cluster.idle_edits(manifest({})) == (DropConstraint("affinity"), SetRequest("cpu", "1"))


def test_a_victim_is_edited_where_it_is_asked_who_would_evict_it() -> None:
    node = make_node("a", cpu="1")
    objects = [
        node,
        make_pod("low", node="a", requests={"cpu": "1"}),
        make_pod("new", requests={"cpu": "1"}, priority=5),
    ]
    assert [taker.name for taker in SchedulingCluster(loaded(objects)).threat("default/low").takers] == ["default/new"]
    assert SchedulingCluster(loaded(objects, SetPriority(5))).threat("default/low").takers == ()
    assert SchedulingCluster(loaded(objects, SetPriority("high"))).threat("default/low").takers == ()


def test_all_pods_are_not_compared_as_edited() -> None:
    with pytest.raises(InputError, match="set priority 5: pods are compared unchanged"):
        SchedulingCluster(loaded([make_node()], SetPriority(5))).verify()
    assert SchedulingCluster(loaded([make_node()], Cordon("node"))).verify().pending_groups == ()


REFUSED: dict[str, tuple[tuple[PodEdit, ...], str]] = {
    "no such class": ((SetPriority("hihg"),), "set priority hihg: the cluster has no PriorityClass hihg\n  did you"),
    "two priorities": ((SetPriority(1), SetPriority("high")), "set priority high: conflicts with: set priority 1"),
    "the same twice": ((Tolerate("gpu"), Tolerate("gpu")), "tolerate gpu: is given twice"),
    "added and taken away": (
        (Tolerate("gpu", "a", "NoSchedule"), Tolerate("gpu", remove=True)),
        "tolerate gpu-: conflicts with: tolerate gpu=a:NoSchedule",
    ),
    "all and one of them": (
        (DropConstraint("spread"), DropConstraint("spread", "rack")),
        "drop constraint spread:rack: conflicts with: drop constraint spread",
    ),
    "the only container and one": (
        (SetRequest("cpu", "1"), SetRequest("cpu", "2", "app")),
        "set request app:cpu=2: conflicts with: set request cpu=1",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_meant_is_refused(case: str) -> None:
    edits, message = REFUSED[case]
    with pytest.raises(InputError) as caught:
        loaded([make_node()], *edits)
    assert message in str(caught.value)


def test_changes_of_the_same_kind_can_be_meant_together() -> None:
    edits = (
        Tolerate("gpu", "a"),
        Tolerate("gpu", "b"),
        SetRequest("cpu", "1"),
        SetRequest("memory", "1Gi"),
        DropConstraint("affinity"),
        DropConstraint("anti-affinity"),
    )
    assert len(loaded([make_node()], *edits).snapshot.changes) == len(edits)


DROP_CONSTRAINT_ZONE = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
RACK = {**DROP_CONSTRAINT_ZONE, "topologyKey": "rack"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NEAR = {
    REQUIRED: [{"topologyKey": "zone"}, {"topologyKey": "rack"}],
    PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}],
}
NODES = {PREFERRED: [{"weight": 1, "preference": {"matchFields": [{"key": "metadata.name", "operator": "In"}]}}]}
AFFINITY = {"nodeAffinity": NODES, "podAffinity": NEAR, "podAntiAffinity": NEAR}


#: The edit, the pod's class, the resulting priority, class and preemptionPolicy, and a part of the edit's text.
PRIORITIES: dict[str, tuple[SetPriority, str, tuple[int, str, str], str]] = {
    "a class": (SetPriority("high"), "", (1000, "high", "PreemptLowerPriority"), "with priority 1000"),
    "another class": (SetPriority("high"), "meek", (1000, "high", "PreemptLowerPriority"), "has PriorityClass high"),
    "a class that preempts nobody": (SetPriority("meek"), "high", (500, "meek", "Never"), "has PriorityClass meek"),
    "a class of the system": (
        SetPriority("system-node-critical"),
        "",
        (2_000_001_000, "system-node-critical", "PreemptLowerPriority"),
        "with priority 2000001000",
    ),
    "a number": (SetPriority(7), "", (7, "", "PreemptLowerPriority"), "the pod has priority 7"),
    "a number, of a pod that preempts nobody": (SetPriority(7), "meek", (7, "", "Never"), "the pod has priority 7"),
}


@pytest.mark.parametrize("case", PRIORITIES)
def test_set_priority_what_a_pod_is_afterwards(case: str) -> None:
    edit, of_class, expected, told = PRIORITIES[case]
    cluster = loaded([make_node()], edit)
    spec = cluster.decide(manifest({"priorityClassName": of_class})).pod.spec
    assert (spec.priority, spec.priority_class_name, spec.preemption_policy) == expected
    assert told in cluster.snapshot.changes[0]


GPU = "nvidia.com/gpu"


def container(name: str = "app", requests: Any = None, limits: Any = None) -> dict[str, Any]:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return {"name": name, **({"resources": resources} if resources else {})}


def containers(*every: dict[str, Any]) -> dict[str, Any]:
    return {"containers": list(every)}


TWO = containers(container("app"), container("proxy", {"cpu": "1"}))
REFUSED_REQUESTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "several containers": ("cpu=2", TWO, "the pod has 2 containers\n  name one with CONTAINER:cpu=2: app, proxy"),
    "no such container": ("apps:cpu=2", TWO, "the pod has no container apps\n  its containers are app, proxy"),
    "a container where the pod as a whole counts": (
        "app:cpu=2",
        {"resources": {"requests": {"cpu": "1"}}},
        "the pod requests cpu at pod level, not per container\n  leave out app:",
    ),
}


@pytest.mark.parametrize("case", REFUSED_REQUESTS)
def test_what_a_pod_does_not_have_is_refused(case: str) -> None:
    text, spec, message = REFUSED_REQUESTS[case]
    with pytest.raises(InputError) as caught:
        edited_spec(spec, SetRequest.parse(text))
    assert str(caught.value) == f"set request {text}: {message}"


def test_what_the_kubelet_reports_of_a_resize_has_followed() -> None:
    old = {"cpu": "3"}
    reported = [{"name": "c", "resources": {"requests": old}, "allocatedResources": old}]
    pod = make_pod(requests=old, status={"containerStatuses": reported})
    changed = SetRequest("cpu", "1").apply_to_pod(pod, make_cluster([], []))
    assert pod_requests(changed, RequestRules())["cpu"] == NANO
    whole = {"resources": {"requests": old}, "allocatedResources": old}
    pod = make_pod(requests={"cpu": "1"}, resources={"requests": old}, status=whole)
    changed = SetRequest("cpu", "1").apply_to_pod(pod, make_cluster([], []))
    assert pod_requests(changed, RequestRules())["cpu"] == NANO


def test_a_request_beyond_what_the_namespace_allows_is_refused_as_that_of_a_manifest_is() -> None:
    pod = {"metadata": {"name": "new"}, "spec": {**containers(container()), "resources": {"limits": {"cpu": "1"}}}}
    with pytest.raises(InputError, match="must be less than or equal to cpu limit of 1"):
        loaded([make_node()], SetRequest("cpu", "2")).decide(pod)


TOLERATE_GPU = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
ANY = {"operator": "Exists"}

READ: dict[type[PodEdit], dict[str, PodEdit]] = {
    DropConstraint: {
        "spread": DropConstraint("spread"),
        "spread:topology.kubernetes.io/zone": DropConstraint("spread", "topology.kubernetes.io/zone"),
        "affinity": DropConstraint("affinity"),
        "anti-affinity:rack": DropConstraint("anti-affinity", "rack"),
        "node-affinity": DropConstraint("node-affinity"),
    },
    SetNodeSelector: {
        "disk=ssd": SetNodeSelector("disk", "ssd"),
        "a.example/disk=": SetNodeSelector("a.example/disk", ""),
        "disk-": SetNodeSelector("disk", None),
    },
    SetPriority: {
        "1000": SetPriority(1000),
        "-5": SetPriority(-5),
        "high": SetPriority("high"),
        "system-node-critical": SetPriority("system-node-critical"),
    },
    SetRequest: {
        "cpu=500m": SetRequest("cpu", "500m"),
        "app:memory=2Gi": SetRequest("memory", "2Gi", "app"),
        "nvidia.com/gpu=1": SetRequest(GPU, "1"),
        "app:hugepages-2Mi=4Mi": SetRequest("hugepages-2Mi", "4Mi", "app"),
    },
    Tolerate: {
        "gpu": Tolerate("gpu"),
        "gpu=true": Tolerate("gpu", "true"),
        "gpu=": Tolerate("gpu", ""),
        "gpu:NoExecute": Tolerate("gpu", None, "NoExecute"),
        "a.example/gpu=true:NoSchedule": Tolerate("a.example/gpu", "true", "NoSchedule"),
        "gpu-": Tolerate("gpu", remove=True),
        "gpu:NoSchedule-": Tolerate("gpu", None, "NoSchedule", remove=True),
    },
}
WRONG: dict[type[PodEdit], dict[str, str]] = {
    DropConstraint: {
        "spreading": "spread, affinity, anti-affinity, each also with :TOPOLOGYKEY, or node-affinity",
        "": "is not a constraint",
        "node-affinity:rack": "is not a constraint",
        "spread:": '"" is not valid here',
        "spread:a b": '"a b" is not valid here',
    },
    SetNodeSelector: {
        "disk": "has no value for the nodeSelector entry\n  KEY=VALUE sets an entry",
        "disk=a b": '"a b" is not valid here',
        "disk-=ssd": '"disk-" is not valid here',
        "=ssd": "is not valid here",
    },
    SetPriority: {
        "": "is not a priority",
        "High": "a whole number, such as 1000, or the name of a PriorityClass",
        "1.5": "is not a priority",
        "2147483648": "is not a priority",
    },
    SetRequest: {
        "cpu": "RESOURCE=QUANTITY or CONTAINER:RESOURCE=QUANTITY",
        "=1": "lacks a resource or a quantity",
        ":cpu=1": "lacks a resource or a quantity",
        "cpu=": '"" is not a quantity',
        "cpu=many": "a number with an optional suffix is expected",
        "cpus=1": '"cpus" is not a resource',
        "cpu=-1": "a negative amount cannot be requested",
        "nvidia.com/gpu=500m": "a fraction cannot be requested",
    },
    Tolerate: {
        "": "is not a toleration",
        "-": "is not a toleration",
        ":NoSchedule": "is not a toleration",
        "gpu=true-": "KEY- removes the tolerations of KEY",
        "gpu:": '"" is not a taint effect',
        "gpu:Sometimes": "the effects are NoSchedule, PreferNoSchedule, NoExecute",
        "gpu=a b": '"a b" is not valid here',
    },
}
MADE: dict[type[PodEdit], dict[str, tuple[str, dict[str, Any], dict[str, Any]]]] = {
    DropConstraint: {
        "all spread constraints": (
            "spread",
            {"topologySpreadConstraints": [DROP_CONSTRAINT_ZONE, RACK], "affinity": AFFINITY},
            {"topologySpreadConstraints": None, "affinity": AFFINITY},
        ),
        "those of a topology key": (
            "spread:zone",
            {"topologySpreadConstraints": [DROP_CONSTRAINT_ZONE, RACK]},
            {"topologySpreadConstraints": [RACK]},
        ),
        "affinity to pods": (
            "affinity",
            {"affinity": AFFINITY},
            {"affinity": {"nodeAffinity": NODES, "podAffinity": {}, "podAntiAffinity": NEAR}},
        ),
        "anti-affinity over a topology key, required and preferred": (
            "anti-affinity:zone",
            {"affinity": AFFINITY},
            {"affinity": {**AFFINITY, "podAntiAffinity": {REQUIRED: [{"topologyKey": "rack"}]}}},
        ),
        "node affinity": (
            "node-affinity",
            {"affinity": AFFINITY},
            {"affinity": {"podAffinity": NEAR, "podAntiAffinity": NEAR}},
        ),
        "none there": ("anti-affinity", {}, {"affinity": None}),
    },
    SetNodeSelector: {
        "added": ("disk=ssd", {"nodeSelector": {"arch": "arm"}}, {"nodeSelector": {"arch": "arm", "disk": "ssd"}}),
        "changed": ("disk=ssd", {"nodeSelector": {"disk": "hdd"}}, {"nodeSelector": {"disk": "ssd"}}),
        "taken away": ("disk-", {"nodeSelector": {"disk": "ssd"}}, {"nodeSelector": None}),
        "not there": ("disk-", {"nodeSelector": {"arch": "arm"}}, {"nodeSelector": {"arch": "arm"}}),
    },
    SetRequest: {
        "the only container": (
            "cpu=2",
            containers(container(requests={"cpu": "1", "memory": "1Gi"})),
            containers(container(requests={"cpu": "2", "memory": "1Gi"})),
        ),
        "a limit below is raised": (
            "cpu=2",
            containers(container(requests={"cpu": "1"}, limits={"cpu": "1500m", "memory": "1Gi"})),
            containers(container(requests={"cpu": "2"}, limits={"cpu": "2", "memory": "1Gi"})),
        ),
        "a limit above stays": (
            "cpu=2",
            containers(container(limits={"cpu": "2500m"})),
            containers(container(requests={"cpu": "2"}, limits={"cpu": "2500m"})),
        ),
        "an extended resource has its limit": (
            "nvidia.com/gpu=1",
            containers(container(requests={GPU: "2"}, limits={GPU: "2"})),
            containers(container(requests={GPU: "1"}, limits={GPU: "1"})),
        ),
        "one of several": ("proxy:cpu=2", TWO, containers(container("app"), container("proxy", {"cpu": "2"}))),
        "init containers only where they are named": (
            "cpu=2",
            {"initContainers": [container("init", {"cpu": "4"})]},
            {"initContainers": [container("init", {"cpu": "4"})]},
        ),
        "an init container": (
            "init:cpu=2",
            {"initContainers": [container("init", {"cpu": "4"})]},
            {"initContainers": [container("init", {"cpu": "2"})], **containers(container(requests={"cpu": "1"}))},
        ),
        "the pod as a whole": (
            "cpu=2",
            {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}, **TWO},
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}, **TWO},
        ),
        "what the pod as a whole does not request": (
            "memory=2Gi",
            {"resources": {"requests": {"cpu": "1"}}, **containers(container())},
            {"resources": {"requests": {"cpu": "1"}}, **containers(container(requests={"memory": "2Gi"}))},
        ),
    },
    Tolerate: {
        "without a value any is tolerated": ("gpu:NoSchedule", {}, {"tolerations": [TOLERATE_GPU]}),
        "with one that one": (
            "gpu=true",
            {"tolerations": [TOLERATE_GPU]},
            {"tolerations": [TOLERATE_GPU, {"key": "gpu", "operator": "Equal", "value": "true"}]},
        ),
        "what is there is not added again": (
            "gpu:NoSchedule",
            {"tolerations": [TOLERATE_GPU]},
            {"tolerations": [TOLERATE_GPU]},
        ),
        "all of a key go, those of all keys stay": (
            "gpu-",
            {"tolerations": [TOLERATE_GPU, ANY]},
            {"tolerations": [ANY]},
        ),
        "those of an effect go": (
            "gpu:NoSchedule-",
            {"tolerations": [TOLERATE_GPU, {**TOLERATE_GPU, "effect": "NoExecute"}]},
            {"tolerations": [{**TOLERATE_GPU, "effect": "NoExecute"}]},
        ),
    },
}


@pytest.mark.parametrize(("kind", "text"), cases_of(READ))
def test_what_is_read(kind: type[PodEdit], text: str) -> None:
    assert kind.parse(text) == READ[kind][text]
    assert str(kind.parse(text)) == f"{kind.option.flag.removeprefix('--').replace('-', ' ')} {text}"


@pytest.mark.parametrize(("kind", "text"), cases_of(WRONG))
def test_what_is_refused(kind: type[PodEdit], text: str) -> None:
    with pytest.raises(InputError) as caught:
        kind.parse(text)
    assert str(caught.value).startswith(f"{kind.option.flag}: ")
    assert WRONG[kind][text] in str(caught.value)


@pytest.mark.parametrize(("kind", "case"), cases_of(MADE))
def test_what_a_pod_is_afterwards(kind: type[PodEdit], case: str) -> None:
    text, before, after = MADE[kind][case]
    found = edited_spec(before, kind.parse(text))
    assert {key: found.get(key) for key in after} == after

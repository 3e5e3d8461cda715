"""Edits of the pods that are asked about: the same as editing the manifest by hand, and what stored pods keep."""

from __future__ import annotations

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
from kschedctl.objects.workload import StatefulSet
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
from tests.builders import ZONE, make_node, make_object, make_pod
from tests.example_counts import scaled
from tests.strategies import World, worlds
from tests.trials.whatif.pods import loaded, manifest, outcome

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
    assert [taker.name for taker in loaded(objects).threat("default/low").takers] == ["default/new"]
    assert loaded(objects, SetPriority(5)).threat("default/low").takers == ()
    assert loaded(objects, SetPriority("high")).threat("default/low").takers == ()


def test_all_pods_are_not_compared_as_edited() -> None:
    with pytest.raises(InputError, match="set priority 5: pods are compared unchanged"):
        loaded([make_node()], SetPriority(5)).verify()
    assert loaded([make_node()], Cordon("node")).verify().pending_groups == ()


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

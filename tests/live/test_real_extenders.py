"""Extenders with the real kube-scheduler: its requests, its use of the answers, and its messages about failures."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest

from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.builders import load_engine
from tests.live.conftest import node, pod, wait_for
from tests.live.control_plane import ControlPlane, missing_assets
from tests.scheduler.extenders.server import Answer, Asked, ExtenderServer, leaving

pytestmark = pytest.mark.live

GPU = "example.com/gpu"
GATE = "held-back"
NAMES = ("a", "b", "c")


@dataclass
class Scene:
    """The extenders' answers in one case; by default an extender keeps all nodes and scores none.

    Attributes
    ----------
    answers : mapping of str to Answer
        The answers by extender and verb.
    spec : dict
        The pod's spec.
    """

    answers: Mapping[str, Answer]
    spec: dict[str, Any] = field(default_factory=dict)


def _as_given(about: Any) -> Any:
    if "NodeNameToMetaVictims" in about:
        given = about["NodeNameToMetaVictims"] or {
            name: {"Pods": [{"UID": each["metadata"]["uid"]} for each in victims["Pods"]]}
            for name, victims in about["NodeNameToVictims"].items()
        }
        return {"NodeNameToMetaVictims": given}
    return {"NodeNames": about["NodeNames"], "Nodes": about["Nodes"]}


DEFAULTS: dict[str, Answer] = {
    "names/filter": _as_given,
    "names/rate": [],
    "names/preempt": _as_given,
    "whole/filter": _as_given,
    "whole/rate": [],
    "whole/preempt": _as_given,
    "shaky/filter": _as_given,
}


def extenders(url: str) -> list[dict[str, Any]]:
    """Return three extenders: with a node cache, for a resource and with whole nodes, and ignorable."""
    verbs = {"filterVerb": "filter", "prioritizeVerb": "rate", "preemptVerb": "preempt"}
    managed = [{"name": GPU, "ignoredByScheduler": True}]
    return [
        {"urlPrefix": f"{url}/shaky", "filterVerb": "filter", "nodeCacheCapable": True, "ignorable": True},
        {"urlPrefix": f"{url}/names/", **verbs, "weight": 3, "nodeCacheCapable": True},
        {"urlPrefix": f"{url}/whole", **verbs, "weight": 1, "managedResources": managed, "httpTimeout": "2s"},
    ]


@pytest.fixture(scope="module")
def server() -> Iterator[ExtenderServer]:
    with ExtenderServer(DEFAULTS) as server:
        yield server


@pytest.fixture(scope="module")
def config(server: ExtenderServer) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": extenders(server.url),
    }


@pytest.fixture(scope="module")
def plane(config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start three nodes, one of them almost full, and the real scheduler with the extenders."""
    missing = missing_assets()
    if missing:
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("extenders"))
    try:
        plane.start()
        plane.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
        plane.create_nodes([node(name, zone="red", cpu=cpu) for name, cpu in zip(NAMES, ("4", "3", "2"), strict=True)])
        classes = ("low", 0), ("high", 1000)
        plane.create(
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
            for name, value in classes
        )
        plane.create([pod("old-a", cpu="3", nodeName="a"), pod("old-b", cpu="1", nodeName="b")])
        plane.start_scheduler(config=config)
        yield plane
    finally:
        plane.stop()


@dataclass(frozen=True)
class Said:
    """The outcome for a pod.

    Attributes
    ----------
    node : str
        The node to which the pod is bound.
    message, reason : str
        The message and reason of the condition PodScheduled.
    nominated : str
        ``status.nominatedNodeName``.
    """

    node: str
    message: str
    reason: str
    nominated: str


def run(
    plane: ControlPlane, config: dict[str, Any], server: ExtenderServer, scene: Scene, name: str
) -> tuple[Decision, Said, list[Asked], list[Asked]]:
    """Decide about a pod with both: first with kschedctl, while a gate holds back the pod."""
    server.answers.update({**DEFAULTS, **scene.answers})
    plane.create([pod(name, schedulingGates=[{"name": GATE}], **scene.spec)])
    try:
        cluster = load(plane, config)
        found = cluster.pods.pod(cluster.pods.index["shop", name])
        server.asked.clear()
        decision = cluster.decide(f"shop/{name}")
        assert found.name == name
        ours = list(server.asked)
        server.asked.clear()
        plane.kubectl("patch", "pod", name, "-n", "shop", "--type=json", "-p", json.dumps(
            [{"op": "remove", "path": "/spec/schedulingGates"}]
        ))  # fmt: skip
        wait_for(lambda: _settled(plane, name) is not None, f"{name} to be settled")
        said = _settled(plane, name)
        assert said is not None
        return decision, said, ours, list(server.asked)
    finally:
        plane.kubectl("delete", "pod", name, "-n", "shop", "--force", "--grace-period=0")


def load(plane: ControlPlane, config: dict[str, Any]) -> LoadedCluster:
    live = LiveContext(kubeconfig=str(plane.kubeconfig))
    return load_engine(live=live, config=config, call_extenders=True)


def _settled(plane: ControlPlane, name: str) -> Said | None:
    (found,) = plane.get("pods", f"--field-selector=metadata.name={name}")
    status, bound = found["status"], found["spec"].get("nodeName", "")
    conditions: list[dict[str, str]] = status.get("conditions", [])
    condition = next((each for each in conditions if each["type"] == "PodScheduled"), {})
    reason = condition.get("reason", "")
    if not bound and reason in ("", "SchedulingGated"):
        return None
    return Said(bound, condition.get("message", ""), reason, status.get("nominatedNodeName", ""))


FILL = {"cpu": "500m"}
USES_GPU = {"cpu": "500m", "gpu": "1"}
MORE: dict[str, Any] = {"containers": [{
    "name": "c", "image": "registry.example.com/app:1", "env": [{"name": "A", "value": "1"}], "tty": True,
    "resources": {"requests": {"cpu": "500m", GPU: "1"}, "limits": {GPU: "1"}},
}]}  # fmt: skip
LARGE: dict[str, Any] = {"cpu": "2500m", "priorityClassName": "high"}


def _victims(**names: str) -> Answer:
    """Return an answer to ``preempt`` with only these candidate nodes."""

    def answer(about: Any) -> Any:
        known = about["NodeNameToMetaVictims"]
        return {"NodeNameToMetaVictims": {name: known.get(name, {"Pods": []}) for name in names}}

    return answer


SCENES: dict[str, Scene] = {
    "no-objection": Scene({}, FILL),
    "one-node-is-left": Scene({"names/filter": leaving("c")}, FILL),
    "two-are-left": Scene({"names/filter": leaving("b", "c", failed={"a": "busy"})}, FILL),
    "the-scores-decide": Scene({"names/rate": [{"Host": "c", "Score": 10}]}, FILL),
    "the-scores-do-not-decide": Scene({"names/rate": [{"Host": "a", "Score": 1}]}, FILL),
    "scores-that-are-none": Scene({"names/rate": {"no": "scores"}}, FILL),
    "all-have-reasons": Scene({"names/filter": leaving(failed={"a": "busy", "b": "busy", "c": "hot"})}, FILL),
    "no-way": Scene({"names/filter": leaving(never={"a": "busy", "b": "busy"}, failed={"b": "no", "c": "hot"})}, FILL),
    "no-reasons": Scene({"names/filter": leaving()}, FILL),
    "a-reason-for-one": Scene({"names/filter": leaving(never={"b": "busy"})}, FILL),
    "an-empty-reason": Scene({"names/filter": leaving(never={"b": ""})}, FILL),
    "a-node-of-elsewhere": Scene({"names/filter": leaving(never={"z": "gone"})}, FILL),
    "out-of-order": Scene({"names/filter": {"error": "out of order"}}, FILL),
    "http-500": Scene({"names/filter": (500, b"")}, FILL),
    "no-json": Scene({"names/filter": b"<html>"}, FILL),
    "no-answer": Scene({"names/filter": b""}, FILL),
    "no-names": Scene({"names/filter": {"NodeNames": "a"}}, FILL),
    "a-node-not-asked-about": Scene({"names/filter": {"NodeNames": ["a", "z"]}}, FILL),
    "redirected": Scene({"names/filter": (307, b"/names/elsewhere"), "names/elsewhere": leaving("c")}, FILL),
    "shaky-fails": Scene({"shaky/filter": (500, b"")}, FILL),
    "shaky-objects": Scene({"shaky/filter": leaving(failed={"a": "busy", "b": "busy", "c": "busy"})}, FILL),
    "whole-nodes": Scene({"whole/filter": leaving("a", "b")}, MORE),
    "whole-nodes-rated": Scene({"whole/filter": leaving("a", "b"), "whole/rate": [{"Host": "b", "Score": 9}]}, MORE),
    "whole-nodes-turned-away": Scene({"whole/filter": leaving(failed={"a": "full", "b": "full"})}, MORE),
    "names-instead-of-nodes": Scene({"whole/filter": {"NodeNames": ["a", "b"]}}, MORE),
    "bare-nodes": Scene({"whole/filter": {"Nodes": {"items": [{"metadata": {"name": n}} for n in "bc"]}}}, MORE),
    "quantities-that-are-none": Scene({"whole/filter": {"Nodes": []}}, MORE),
    "preemption": Scene({}, LARGE),
    "preemption-of-b": Scene({"names/preempt": _victims(b="old-b")}, LARGE),
    "preemption-declined": Scene({"names/preempt": {}}, LARGE),
    "preemption-of-nobody": Scene({"names/preempt": {"NodeNameToMetaVictims": {"a": {"Pods": []}}}}, LARGE),
    "preemption-fails": Scene({"names/preempt": (503, b"")}, LARGE),
    "preemption-elsewhere": Scene(
        {"names/preempt": {"NodeNameToMetaVictims": {"z": {"Pods": [{"UID": "1"}]}}}}, LARGE
    ),
    "preemption-of-others": Scene(
        {"names/preempt": {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "1"}]}}}}, LARGE
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_placement_message_and_requests_are_those_of_the_real_scheduler(
    plane: ControlPlane, config: dict[str, Any], server: ExtenderServer, name: str
) -> None:
    decision, said, ours, theirs = run(plane, config, server, SCENES[name], name)
    if said.node:
        assert said.node in decision.best
    else:
        assert decision.best == ()
        assert said.message == (decision.error or decision.message)
        assert said.reason == ("SchedulerError" if decision.error else "Unschedulable")
        assert said.nominated in (decision.post_filter.nominated if decision.post_filter else ()) or not said.nominated
        if decision.victims:
            assert said.nominated in decision.victims
            _restore(plane)
    # What failed is tried again, and asked again.
    ours, theirs = _ordered(ours), _ordered(theirs[: len(ours)])
    assert [each.verb for each in ours] == [each.verb for each in theirs]
    for own, other in zip(ours, theirs, strict=True):
        assert _lines(own.about) == _lines(other.about)


def _ordered(asked: list[Asked]) -> list[Asked]:
    """Return requests in their order, but score requests by extender, as they are sent concurrently."""
    rates = iter(sorted((each for each in asked if each.verb.endswith("/rate")), key=lambda each: each.verb))
    return [next(rates) if each.verb.endswith("/rate") else each for each in asked]


def _restore(plane: ControlPlane) -> None:
    """Recreate the victims."""
    plane.kubectl("delete", "pods", "-n", "shop", "--all", "--force", "--grace-period=0")
    plane.create([pod("old-a", cpu="3", nodeName="a"), pod("old-b", cpu="1", nodeName="b")])


#: Fields that differ between the two, as the pod was gated and its status is written.
_CHANGING = ("resourceVersion", "schedulingGates", "status", "generation", "observedGeneration")


def _lines(about: Any) -> list[str]:
    return json.dumps(_comparable(about), indent=1, sort_keys=True).split("\n")


def _comparable(value: Any) -> Any:
    """Return a request without empty and changing fields, its lists in sorted order."""
    value = deepcopy(value)
    if isinstance(value, dict) and isinstance(value.get("Pod"), dict):
        for part in (value["Pod"], value["Pod"].get("metadata", {}), value["Pod"].get("spec", {})):
            for name in _CHANGING:
                part.pop(name, None)
    if isinstance(value, dict):
        pairs = ((key, _comparable(inner)) for key, inner in value.items())
        return {key: inner for key, inner in pairs if inner not in (None, {}, [], "", False, 0)}
    if isinstance(value, list):
        items = [_comparable(inner) for inner in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    return value

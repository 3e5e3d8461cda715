"""Disruption budgets on a real control plane: its disruption controller writes the status that kschedctl computes."""

import json
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest
from msgspec.structs import replace

from kschedctl.controllers.disruption import counted_budget
from kschedctl.objects.workload import PodDisruptionBudget, PodDisruptionBudgetStatus
from kschedctl.sources.live.kubeconfig import LiveContext
from tests.builders import load_engine
from tests.live.conftest import node, wait_for
from tests.live.control_plane import ControlPlane, missing_assets

pytestmark = pytest.mark.live

Object = dict[str, Any]
Counts = tuple[int, int, int, int]
_NAMESPACE: Final = "budgets"
#: The replicas of each workload, by kind and app, and how many of its pods are ready.
_WORKLOADS: Final = (("Deployment", "web", 3, 3), ("Deployment", "api", 4, 2), ("StatefulSet", "db", 1, 1))
#: The limits of a budget for each app; ``mixed`` selects a Deployment's pods and a bare one.
_BUDGETS: Final[tuple[tuple[str, Object], ...]] = (
    ("web", {"minAvailable": 2}),
    ("web", {"minAvailable": "67%"}),
    ("web", {"minAvailable": "50%"}),
    ("web", {"maxUnavailable": 0}),
    ("web", {"maxUnavailable": "10%"}),
    ("web", {}),
    ("api", {"minAvailable": 1}),
    ("api", {"maxUnavailable": 2}),
    ("api", {"maxUnavailable": "70%"}),
    ("db", {"minAvailable": 1}),
    ("db", {"maxUnavailable": 1}),
    ("bare", {"minAvailable": 1}),
    ("bare", {"maxUnavailable": 1}),
    ("bare", {"minAvailable": "50%"}),
    ("mixed", {"maxUnavailable": 1}),
    ("mixed", {"minAvailable": "50%"}),
    ("mixed", {"minAvailable": 2}),
    ("job", {"maxUnavailable": 1}),
    ("job", {"minAvailable": 1}),
    ("none", {"minAvailable": 1}),
    ("none", {"maxUnavailable": 1}),
    ("", {"minAvailable": 3}),
    ("", {"maxUnavailable": 3}),
)


def _made(kind: str, name: str, api_version: str = "v1", **fields: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": _NAMESPACE}, **fields}


def _template(labels: Object, **spec: Any) -> Object:
    container = {"name": "c", "image": "registry.example.com/app:1"}
    return {"metadata": {"labels": labels}, "spec": {"nodeName": "n1", "containers": [container], **spec}}


def _objects() -> Iterator[Object]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}}
    for kind, app, replicas, _ in _WORKLOADS:
        labels = {"app": app, **({"group": "mixed"} if app == "web" else {})}
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": app}}, "template": _template(labels)}
        own = {"serviceName": app} if kind == "StatefulSet" else {}
        yield _made(kind, app, "apps/v1", spec={**spec, **own})
    yield _made("Job", "job", "batch/v1", spec={"template": _template({"app": "job"}, restartPolicy="Never")})
    for name, labels in (("bare-1", {"app": "bare"}), ("bare-2", {"app": "bare"}), ("extra", {"group": "mixed"})):
        pod = _made("Pod", name, spec=_template(labels)["spec"])
        pod["metadata"]["labels"] = labels
        yield pod


def _budgets() -> Iterator[Object]:
    for i, (app, limit) in enumerate(_BUDGETS):
        labels = {"group": "mixed"} if app == "mixed" else {"app": app} if app else {}
        selector = {"matchLabels": labels} if labels else {}
        yield _made("PodDisruptionBudget", f"b-{i:02}", "policy/v1", spec={"selector": selector, **limit})


def _make_ready(plane: ControlPlane) -> None:
    """Report pods as their kubelet would: running, and ready unless their app has enough ready pods."""
    most = {app: ready for _, app, _, ready in _WORKLOADS}
    seen: dict[str, int] = {}
    for pod in plane.get("pods"):
        name, app = pod["metadata"]["name"], pod["metadata"]["labels"].get("app", "")
        seen[app] = seen.get(app, 0) + 1
        ready = "True" if seen[app] <= most.get(app, 99) else "False"
        status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}}
        arguments = ("patch", "pod", name, "-n", _NAMESPACE, "--subresource=status", "--type=merge")
        plane.kubectl(*arguments, "-p", json.dumps(status))


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start a control plane whose controllers have created all pods."""
    missing = missing_assets()
    if missing:
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("budgets"))
    try:
        plane.start()
        plane.start_controllers()
        plane.create_nodes([node("n1", zone="red", cpu="8")])
        plane.create(_objects())
        n_pods = sum(replicas for _, _, replicas, _ in _WORKLOADS) + 4
        wait_for(lambda: len(plane.get("pods")) == n_pods, "the pods of all workloads")
        _make_ready(plane)
        # The controller counts again for only one budget of a pod that changes, so the budgets come last.
        plane.create(_budgets())
        yield plane
    finally:
        plane.stop()


def _counts(budget: PodDisruptionBudget) -> Counts:
    status = budget.status
    return status.expected_pods, status.current_healthy, status.desired_healthy, status.disruptions_allowed or 0


def _statuses(plane: ControlPlane) -> tuple[dict[str, Counts], dict[str, Counts]]:
    """Return the statuses on the server and the computed ones, by budget."""
    cluster = load_engine(live=LiveContext(kubeconfig=str(plane.kubeconfig))).cluster
    told = {f"{name} {_BUDGETS[int(name[2:])]}": budget for budget in _stored(plane) for name in [budget.name]}
    bare = {key: replace(budget, status=PodDisruptionBudgetStatus()) for key, budget in told.items()}
    computed = {key: _counts(counted_budget(cluster, budget)) for key, budget in bare.items()}
    return {key: _counts(budget) for key, budget in told.items()}, computed


def _stored(plane: ControlPlane) -> list[PodDisruptionBudget]:
    return [msgspec.convert(each, PodDisruptionBudget) for each in plane.get("pdb")]


def test_the_computed_status_is_that_of_the_disruption_controller(plane: ControlPlane) -> None:
    until = time.monotonic() + 30
    told, computed = _statuses(plane)
    while told != computed and time.monotonic() < until:
        time.sleep(1)
        told, computed = _statuses(plane)
    assert told == computed
    assert len(told) == len(_BUDGETS)

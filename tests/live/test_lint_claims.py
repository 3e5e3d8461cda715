"""Claims of lint rules, tried on a real control plane: the failing example hangs, the passing one proceeds.

The cluster has three nodes, the real scheduler and controllers, and a thread that sets pods to running like kubelets.
"""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from kschedctl.linter.rules import RULES
from tests.live.conftest import node, wait_for
from tests.live.control_plane import ControlPlane, missing_assets

pytestmark = pytest.mark.live

NODES = ("lint-1", "lint-2", "lint-3")
#: The time without progress after which a rollout counts as hanging, in seconds; the components act within 2 seconds.
HANGS_SECONDS = 8.0
EXAMPLES = {rule.code: rule for rule in RULES}
REVISION = "example.com/revision"


class Play:
    """A control plane on which pods appear to run."""

    def __init__(self, plane: ControlPlane) -> None:
        from kubernetes import client, config

        self.plane = plane
        configuration = client.Configuration()
        config.load_kube_config(str(plane.kubeconfig), client_configuration=configuration)
        # The API server signs for itself.
        configuration.verify_ssl = True
        configuration.ssl_ca_cert = str(plane.folder / "certs" / "apiserver.crt")
        api = client.ApiClient(configuration)
        self.core = client.CoreV1Api(api)
        self.apps = client.AppsV1Api(api)
        self._ended = threading.Event()
        self._kubelet = threading.Thread(target=self._act, daemon=True)
        self._kubelet.start()

    def end(self) -> None:
        self._ended.set()
        self._kubelet.join()

    def _act(self) -> None:
        while not self._ended.wait(0.2):
            # What the API server does not take, because something changed in between, is done the next time.
            with contextlib.suppress(Exception):
                for pod in self.core.list_pod_for_all_namespaces().items:
                    with contextlib.suppress(Exception):
                        self._act_on(pod)

    def _act_on(self, pod: Any) -> None:
        name, namespace = pod.metadata.name, pod.metadata.namespace
        if pod.metadata.deletion_timestamp is not None:
            self.core.delete_namespaced_pod(name, namespace, grace_period_seconds=0)
        elif pod.spec.node_name and (pod.status.phase != "Running"):
            ready = [{"type": each, "status": "True"} for each in ("PodScheduled", "Initialized", "Ready")]
            status = {"phase": "Running", "conditions": ready, "startTime": "2026-01-01T00:00:00Z"}
            self.core.patch_namespaced_pod_status(name, namespace, {"status": status})

    @contextlib.contextmanager
    def applied(self, text: str, namespace: str) -> Iterator[list[dict[str, Any]]]:
        """Create objects in a new namespace, and delete them afterwards."""
        objects = [each for each in yaml.safe_load_all(text) if each]
        self.plane.kubectl("create", "namespace", namespace)
        for each in objects:
            each["metadata"].pop("namespace", None)
        try:
            listed = {"apiVersion": "v1", "kind": "List", "items": objects}
            self.plane.kubectl("apply", "-n", namespace, "-f", "-", given=listed)
            yield objects
        finally:
            self.plane.kubectl("delete", "all,pdb,pvc", "--all", "-n", namespace, "--force", "--grace-period=0")
            self.plane.kubectl("uncordon", *NODES)

    def pods(self, namespace: str) -> list[Any]:
        return list(self.core.list_namespaced_pod(namespace).items)

    def ready(self, namespace: str, n: int) -> bool:
        return len([pod for pod in self.pods(namespace) if pod.status.phase == "Running"]) >= n

    def roll(self, workload: dict[str, Any], namespace: str) -> None:
        """Change the template, so that a rollout starts."""
        kind, name = workload["kind"].lower(), workload["metadata"]["name"]
        patch = {"spec": {"template": {"metadata": {"annotations": {REVISION: "2"}}}}}
        self.plane.kubectl("patch", kind, name, "-n", namespace, "-p", json.dumps(patch))

    def rolled(self, namespace: str, n: int) -> bool:
        """Report whether all pods have the new revision and run, and no old pod is left."""
        pods = self.pods(namespace)
        new = [pod for pod in pods if (pod.metadata.annotations or {}).get(REVISION) == "2"]
        return len(new) == len(pods) == n and all(pod.status.phase == "Running" for pod in new)

    def refusal(self, namespace: str) -> str:
        """Return the reason why a pod's eviction is rejected; empty if it is allowed. The eviction is a dry run."""
        from kubernetes import client

        pod = self.pods(namespace)[0]
        metadata = client.V1ObjectMeta(name=pod.metadata.name, namespace=namespace)
        try:
            self.core.create_namespaced_pod_eviction(
                pod.metadata.name, namespace, client.V1Eviction(metadata=metadata), dry_run="All"
            )
        except client.ApiException as error:
            return str(error.body)
        return ""


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    missing = missing_assets()
    if missing:
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("lint-plane"))
    try:
        plane.start()
        plane.start_controllers()
        plane.create_nodes([node(name, zone="a", cpu="8") for name in NODES])
        plane.start_scheduler()
        playing = Play(plane)
        yield playing
        playing.end()
    finally:
        plane.stop()


def hangs(is_done: Callable[[], bool], is_stuck: Callable[[], bool], name: str) -> None:
    """Check that a rollout is stuck, and still is after ``HANGS_SECONDS``."""
    wait_for(is_stuck, f"{name} to be stuck")
    until = time.monotonic() + HANGS_SECONDS
    while time.monotonic() < until:
        assert not is_done(), f"{name} went on"
        time.sleep(0.5)
    assert is_stuck(), f"{name} is not stuck any more"


def volume() -> dict[str, Any]:
    """Return a volume for the claim of KS205."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"generateName": "lint-"},
        "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOncePod"], "hostPath": {"path": "/data"}},
    }


#: By rule: how many pods run, and the nodes that are cordoned first.
ROLLOUTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "KS201": (3, ()),
    "KS202": (2, NODES[2:]),
    "KS203": (3, ()),
    "KS205": (1, ()),
}


@pytest.mark.parametrize("code", ROLLOUTS)
@pytest.mark.parametrize("repaired", [False, True], ids=["fails", "passes"])
def test_rollouts(play: Play, code: str, repaired: bool) -> None:
    n, cordoned = ROLLOUTS[code]
    rule = EXAMPLES[code]
    namespace = f"{code.lower()}-{'passes' if repaired else 'fails'}"
    if code == "KS205":
        play.plane.create([volume()])
    with play.applied(rule.passing_manifests if repaired else rule.failing_manifests, namespace) as objects:
        if cordoned:
            wait_for(lambda: bool(play.pods(namespace)), "pods")
            play.plane.kubectl("cordon", *cordoned)
            play.plane.kubectl("delete", "pods", "--all", "-n", namespace, "--wait=false")
        wait_for(lambda: play.ready(namespace, n) and len(play.pods(namespace)) == n, f"{n} pods of {code}")
        play.roll(objects[0], namespace)
        if repaired:
            wait_for(lambda: play.rolled(namespace, n), f"the rollout of {code}")
        else:
            hangs(
                lambda: play.rolled(namespace, n),
                lambda: any(pod.status.phase == "Pending" for pod in play.pods(namespace)),
                f"the rollout of {code}",
            )


BUDGETS = ("KS301", "KS303", "KS306", "KS307")
WORKLOAD = EXAMPLES["KS304"].passing_manifests.partition("---\n")[2]


@pytest.mark.parametrize("code", BUDGETS)
@pytest.mark.parametrize("repaired", [False, True], ids=["fails", "passes"])
def test_budgets(play: Play, code: str, repaired: bool) -> None:
    rule = EXAMPLES[code]
    text = rule.passing_manifests if repaired else rule.failing_manifests
    text = text if "kind: PodDisruptionBudget" not in text or "containers:" in text else f"{text}---\n{WORKLOAD}"
    namespace = f"{code.lower()}-{'passes' if repaired else 'fails'}"
    n = {"KS301": 3, "KS307": 3}.get(code, 1)
    with play.applied(text, namespace):
        wait_for(lambda: play.ready(namespace, n), f"{n} pods of {code}")
        if repaired:
            wait_for(lambda: not play.refusal(namespace), f"an eviction under {code}")
        else:
            hangs(
                lambda: not play.refusal(namespace), lambda: bool(play.refusal(namespace)), f"an eviction under {code}"
            )
            said = play.refusal(namespace)
            assert ("more than one PodDisruptionBudget" if code == "KS303" else "disruption budget") in said


@pytest.mark.parametrize("repaired", [False, True], ids=["fails", "passes"])
def test_pods_that_tolerate_the_taint_of_cordoned_nodes_come_back(play: Play, repaired: bool) -> None:
    rule = EXAMPLES["KS108"]
    namespace = f"ks108-{'passes' if repaired else 'fails'}"
    with play.applied(rule.passing_manifests if repaired else rule.failing_manifests, namespace):
        wait_for(lambda: play.ready(namespace, 1), "a pod")
        play.plane.kubectl("cordon", *NODES)
        before = {pod.metadata.name for pod in play.pods(namespace)}
        play.plane.kubectl("delete", "pods", "--all", "-n", namespace, "--wait=false")

        def is_back() -> bool:
            return any(p.metadata.name not in before and p.status.phase == "Running" for p in play.pods(namespace))

        def waits() -> bool:
            return any(p.metadata.name not in before and p.status.phase == "Pending" for p in play.pods(namespace))

        if repaired:
            hangs(is_back, waits, "a pod that does not tolerate it")
        else:
            wait_for(is_back, "the pod to come back")


@pytest.mark.parametrize("repaired", [False, True], ids=["fails", "passes"])
def test_a_tainted_node_that_is_counted_lets_pods_wait(play: Play, repaired: bool) -> None:
    rule = EXAMPLES["KS510"]
    namespace = f"ks510-{'passes' if repaired else 'fails'}"
    play.plane.kubectl("taint", "node", NODES[2], "gpu=true:NoSchedule")
    try:
        with play.applied(rule.passing_manifests if repaired else rule.failing_manifests, namespace):
            if repaired:
                wait_for(lambda: play.ready(namespace, 4), "all pods")
            else:
                wait_for(lambda: play.ready(namespace, 2), "two pods")
                hangs(
                    lambda: play.ready(namespace, 3),
                    lambda: sum(pod.status.phase == "Pending" for pod in play.pods(namespace)) == 2,
                    "the third pod",
                )
    finally:
        play.plane.kubectl("taint", "node", NODES[2], "gpu-")

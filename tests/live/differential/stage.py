"""A control plane on which one thing happens at a time: the real scheduler is paused while an object is changed."""

import datetime
import http.client
import json
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.builders import load_engine
from tests.live.busy import attempts_so_far
from tests.live.control_plane import ControlPlane, free_ports
from tests.live.differential.scenery import GATE, Object, Scenery

SCHEDULER: Final = "kube-scheduler"
_KINDS: Final = (
    "nodes,namespaces,pods,services,pv,pvc,priorityclasses,limitranges,pdb,replicasets,statefulsets,jobs,daemonsets"
)
_SECONDS: Final = 120.0
_TICK: Final = 0.15


class Stage:
    """A cluster, its workloads, controllers and scheduler; all pods are created with a scheduling gate.

    Parameters
    ----------
    plane : ControlPlane
        The running etcd and API server.
    scenery : Scenery
        The objects to create.
    keep : Path, optional
        A folder in which to save the cluster before every step, for later inspection.
    """

    def __init__(self, plane: ControlPlane, scenery: Scenery, keep: Path | None = None) -> None:
        self._plane = plane
        self._keep, self._n_kept = keep, 0
        self._clock = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        self._server = urlsplit(json.loads(plane.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]).netloc
        (self._metrics_port,) = free_ports(1)
        plane.start_controllers()
        plane.create_nodes(scenery.nodes)
        plane.create(scenery.objects)
        claims = len(scenery.claims())
        self.wait(lambda: self._count("persistentvolumeclaims", "Bound") == claims, "bound claims")
        plane.create(scenery.workloads)
        self.wait(lambda: self._made(scenery) and self._is_still(), "the pods of all workloads")
        self._start_scheduler()

    def snapshot(self) -> LoadedCluster:
        """Return the current cluster."""
        return load_engine(live=LiveContext(kubeconfig=str(self._plane.kubeconfig)))

    def pods(self) -> list[Object]:
        """Return the current state of all pods."""
        found: list[Object] = self._request("GET", "/api/v1/pods")["items"]
        return found

    def open_gate(self, pod: Object) -> LoadedCluster:
        """Remove a pod's gate; return the cluster that the scheduler will find."""

        def change() -> None:
            self._request("PATCH", _path(pod), {"spec": {"schedulingGates": None}})

        return self._unseen(change)

    def remove(self, pod: Object) -> LoadedCluster:
        """Delete a pod like a kubelet that has stopped it; return the cluster that the scheduler will find."""

        def change() -> None:
            if pod["metadata"].get("finalizers"):
                self._request("PATCH", _path(pod), {"metadata": {"finalizers": None}})
            self._request("DELETE", f"{_path(pod)}?gracePeriodSeconds=0")

        return self._unseen(change)

    def settle(self, uid: str = "") -> list[Object]:
        """Resume the scheduler until it is idle and has tried the pod with this uid; return all pods."""

        def is_over() -> bool:
            return self._is_quiet() and all(is_tried(pod) for pod in self.pods() if pod["metadata"]["uid"] == uid)

        self._plane.resume(SCHEDULER)
        self.wait(is_over, "the scheduler to come to rest")
        return self.pods()

    def restart(self) -> tuple[LoadedCluster, list[Object]]:
        """Let a new scheduler try all pending pods; return the cluster before and all pods afterwards."""
        self._plane.stop(SCHEDULER)
        cluster = self.snapshot()
        self._start_scheduler()
        return cluster, self.pods()

    def _start_scheduler(self) -> None:
        # With batching, several pods requeued at once would be placed by the scores of the first one.
        self._plane.start_scheduler("--feature-gates=OpportunisticBatching=false", port=self._metrics_port)
        self.wait(self._is_quiet, "the scheduler to come to rest")

    def start_bound_pods(self) -> None:
        """Set bound pods to running like a kubelet, each with another start time."""
        for pod in self.pods():
            if pod["spec"].get("nodeName") and "startTime" not in pod["status"]:
                self._clock += datetime.timedelta(seconds=1)
                since = self._clock.strftime("%Y-%m-%dT%H:%M:%SZ")
                ready = {"type": "Ready", "status": "True", "lastTransitionTime": since}
                conditions = [*pod["status"].get("conditions", ()), ready]
                status = {"phase": "Running", "startTime": since, "conditions": conditions}
                self._request("PATCH", f"{_path(pod)}/status", {"status": status})
        self.wait(self._is_quiet, "the scheduler to see pods run")

    def _unseen(self, change: Callable[[], None]) -> LoadedCluster:
        self._plane.pause(SCHEDULER)
        change()
        # Controllers react to the change as well.
        self.wait(self._is_still, "the controllers to come to rest")
        if self._keep is not None:
            self._n_kept += 1
            text = self._plane.kubectl("get", _KINDS, "-A", "-o", "yaml")
            (self._keep / f"{self._n_kept:03}.yaml").write_text(text)
        return self.snapshot()

    def _is_quiet(self) -> bool:
        """Report whether the scheduler is idle: nothing in its queue, no attempt in between, and no pod changes."""
        first = attempts_so_far(self._metrics_port)
        return first is not None and self._is_still() and attempts_so_far(self._metrics_port) == first

    def _is_still(self) -> bool:
        """Report whether no pod and no PodDisruptionBudget changes for 0.15 seconds."""
        before = self._versions()
        time.sleep(_TICK)
        return self._versions() == before

    def _versions(self) -> set[tuple[str, str]]:
        budgets = self._request("GET", "/apis/policy/v1/poddisruptionbudgets")["items"]
        return {(each["metadata"]["uid"], each["metadata"]["resourceVersion"]) for each in (*self.pods(), *budgets)}

    def _made(self, scenery: Scenery) -> bool:
        """Report whether every workload has all its pods."""
        names = [pod["metadata"]["name"] for pod in self.pods()]
        return all(
            sum(name.startswith(f"{workload['metadata']['name']}-") for name in names) >= _wanted(workload)
            for workload in scenery.workloads
        )

    def _count(self, plural: str, phase: str) -> int:
        items = self._request("GET", f"/api/v1/{plural}")["items"]
        return sum(item["status"].get("phase") == phase for item in items)

    def wait(self, what: Callable[[], bool], name: str) -> None:
        """Wait up to 120 seconds until a condition holds."""
        until = time.monotonic() + _SECONDS
        while not what():
            assert time.monotonic() < until, f"waited in vain for {name}"
            time.sleep(_TICK)

    def _request(self, method: str, path: str, body: Object | None = None) -> Any:
        # The API server's certificate is self-signed; the connection stays on the loopback address.
        unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(self._server, timeout=_SECONDS, context=unverified)
        try:
            headers = {"Authorization": "Bearer admin", "Content-Type": "application/merge-patch+json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status < 300, f"{method} {path}: {text.decode(errors='replace')}"
            return json.loads(text)
        finally:
            connection.close()


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _wanted(workload: Object) -> int:
    """Return a workload's minimum number of pods."""
    spec = workload["spec"]
    return int(spec.get("replicas") or spec.get("parallelism") or 0)


def is_gated(pod: Object) -> bool:
    """Report whether a pod still has its gate."""
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates", ()))


def is_tried(pod: Object) -> bool:
    """Report whether the scheduler has tried a pod after its gate was removed."""
    return bool(pod["spec"].get("nodeName") or condition(pod).get("reason") not in (None, "SchedulingGated"))


def condition(pod: Object) -> Object:
    """Return a pod's PodScheduled condition, or an empty object."""
    return next((each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"), {})

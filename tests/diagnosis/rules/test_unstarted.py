"""Pods that are bound and do not start or run: the node, the states of containers, and the kubelet's Events."""

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose, diagnose_cluster
from kschedctl.diagnosis.rules.unstarted import binding
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.event import Event
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import decide, make_cluster, make_event, make_node, make_pod

NODES = [
    make_node("worker-1"),
    make_node("worker-2"),
    make_node("sick", taints=["node.kubernetes.io/not-ready:NoExecute"]),
]


def waiting(reason: str, statuses: str = "containerStatuses") -> dict[str, Any]:
    return {"phase": "Pending", statuses: [{"name": "app", "state": {"waiting": {"reason": reason}}}]}


@pytest.mark.parametrize(
    ("node", "status", "relation", "causes"),
    [
        pytest.param("worker-1", {"phase": "Running"}, "runs on worker-1", [], id="it runs"),
        pytest.param(
            "worker-1",
            waiting("ImagePullBackOff"),
            "is bound to worker-1, but has not started",
            ["scheduling is done; container app waits: ImagePullBackOff"],
            id="image",
        ),
        pytest.param(
            "worker-1",
            waiting("CrashLoopBackOff", "initContainerStatuses"),
            "is bound to worker-1, but has not started",
            ["scheduling is done; container app waits: CrashLoopBackOff"],
            id="init container",
        ),
        pytest.param(
            "worker-1",
            waiting("ContainerCreating"),
            "is bound to worker-1, but has not started",
            [],
            id="no reason in its status",
        ),
        pytest.param(
            "sick",
            {"phase": "Pending"},
            "is bound to sick, but has not started",
            ["its node sick is not ready: taint node.kubernetes.io/not-ready"],
            id="unhealthy node",
        ),
        pytest.param(
            "worker-02",
            {"phase": "Pending"},
            "is bound to worker-02, which does not exist",
            ["nodeName worker-02 is no node of the cluster (did you mean worker-2?)"],
            id="mistyped nodeName",
        ),
        pytest.param("gone", {"phase": "Running"}, "is bound to gone, which does not exist", [], id="lost node"),
    ],
)
def test_bound_pods(node: str, status: dict[str, Any], relation: str, causes: list[str]) -> None:
    cluster = make_cluster(NODES, [make_pod("p", node=node, status=status)])
    pod = cluster.pods.pod(0)
    assert binding(cluster, pod, node) == relation
    assert [one.cause for one in diagnose(decide(make_pod("p", status=status), cluster), node)] == causes


def test_the_causes_for_which_a_bound_pod_fits_nowhere_come_first() -> None:
    status = waiting("ImagePullBackOff")
    decision = decide(make_pod(requests={"cpu": "9"}, status=status), make_cluster(NODES[:2]))
    assert [one.rule for one in diagnose(decision, "worker-1")] == ["oversized-request", "unstarted-pod"]


def test_in_a_snapshot_that_seems_to_lack_nodes_pods_run() -> None:
    cluster = make_cluster(NODES[:1], [make_pod(f"p{n}", node=f"n{n}", status={"phase": "Running"}) for n in range(3)])
    assert binding(cluster, cluster.pods.pod(0), "n0") == "runs on n0"


def crashed(code: int, reason: str = "", restarts: int = 0, *, waits: bool = True) -> dict[str, Any]:
    ended = {"terminated": {"exitCode": code, "reason": reason}}
    state = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended} if waits else {"state": ended}
    return {"phase": "Running", "containerStatuses": [{"name": "app", "restartCount": restarts, **state}]}


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (crashed(1, "Error", 7), "container app waits: CrashLoopBackOff, last exit code 1, 7 restarts"),
        (
            crashed(137, "OOMKilled", 1),
            "container app waits: CrashLoopBackOff, last exit code 137 (OOMKilled), 1 restart",
        ),
        (crashed(2, "Error", 1, waits=False), "container app has ended: exit code 2, 1 restart"),
        (crashed(0, "Completed", waits=False), ""),
    ],
)
def test_what_a_container_ended_with(status: dict[str, Any], cause: str) -> None:
    cluster = make_cluster(NODES, [make_pod("p", node="worker-1", status=status)])
    found = [one.cause for one in diagnose(decide(cluster.pods.pod(0), cluster), "worker-1")]
    assert found == ([f"scheduling is done; {cause}"] if cause else [])


@pytest.mark.parametrize(
    ("reason", "message", "cause", "cure"),
    [
        (
            "CreateContainerConfigError",
            'secret "db" not found',
            "scheduling is done, and the secret db that the pod uses does not exist in default",
            "create the secret db in default, or correct its name in the pod template",
        ),
        (
            "RunContainerError",
            'exec: "/bin/serve": no such file',
            'scheduling is done; container app waits: RunContainerError: exec: "/bin/serve": no such file',
            None,
        ),
    ],
)
def test_what_a_container_waits_for(reason: str, message: str, cause: str, cure: str | None) -> None:
    """The kubelet's words are in the state of the container as well, for longer than there are Events."""
    state = {"waiting": {"reason": reason, "message": message}}
    status = {"phase": "Pending", "containerStatuses": [{"name": "app", "state": state}]}
    cluster = make_cluster(NODES, [make_pod("p", node="worker-1", status=status)])
    (found,) = diagnose(decide(cluster.pods.pod(0), cluster), "worker-1")
    assert (found.cause, [each.summary for each in found.advice]) == (cause, [cure] if cure else [])


def test_a_container_that_needs_more_memory() -> None:
    status = crashed(137, "OOMKilled")
    status["containerStatuses"][0]["name"] = "c"
    containers = [{"name": "c", "resources": {"limits": {"memory": "1Gi"}}}]
    cluster = make_cluster(NODES, [make_pod("p", node="worker-1", containers=containers, status=status)])
    (found,) = diagnose(decide(cluster.pods.pod(0), cluster), "worker-1")
    cure = "raise the memory limit of container c, which is 1Gi, or lower what its program uses"
    assert [each.summary for each in found.advice] == [cure]


def test_a_pod_that_runs_and_is_not_ready() -> None:
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-20T09:00:00Z"}
    pod = make_pod("p", node="worker-1", status={"phase": "Running", "conditions": [ready]})
    cluster = make_cluster(NODES, [pod], make_event("Pod", "p", "probe failed: 503", reason="Unhealthy"))
    words = (
        "it is not ready since 2026-11-20 09:00 UTC: kubelet (Unhealthy, at 2026-11-20 10:00 UTC): probe failed: 503"
    )
    assert binding(cluster, cluster.pods.pod(0), "worker-1") == f"runs on worker-1; {words}"
    assert [one.cause for one in diagnose(decide(cluster.pods.pod(0), cluster), "worker-1")] == [words]


AWS = (
    'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "4f7c1e": '
    'plugin type="aws-cni" name="aws-cni" failed (add): add cmd: failed to assign an IP address to container'
)
AZURE = (
    "Failed to create pod sandbox: IPAM Plugin failed: Failed to request address: No available addresses, "
    "InsufficientFreeAddressesInSubnet"
)
CALICO = (
    'failed to setup network for sandbox "a": plugin type="calico" failed (add): stat /var/lib/calico/nodename: no file'
)
SECRET = 'MountVolume.SetUp failed for volume "tls" : secret "web-tls" not found'
ATTACH = (
    'Multi-Attach error for volume "pvc-1" Volume is already exclusively attached to one node and can\'t be attached '
    "to another"
)
KEY = "Error: couldn't find key token in Secret default/web"


@pytest.mark.parametrize(
    ("reason", "message", "cause", "cure"),
    [
        (
            "FailedCreatePodSandBox",
            AWS,
            "no IP address left for the pod on worker-1",
            "more addresses: prefix delegation",
        ),
        (
            "FailedCreatePodSandBox",
            'plugin type="azure-vnet" failed (add): IPAM Invoker Add failed: not enough IPs available for 12',
            "no IP address left for the pod on worker-1",
            "more addresses: prefix delegation",
        ),
        ("FailedCreatePodSandBox", AZURE, "no IP address left for the pod on worker-1", "lower max-pods of worker-1"),
        (
            "FailedCreatePodSandBox",
            CALICO,
            "the network plugin calico cannot set up the pod on worker-1: stat /var/lib/calico/nodename",
            "repair the network plugin calico on worker-1",
        ),
        (
            "FailedMount",
            SECRET,
            "the secret web-tls that the pod uses does not exist in default",
            "create the secret web-tls",
        ),
        (
            "FailedAttachVolume",
            ATTACH,
            "volume pvc-1 is still attached to another node",
            "end the pod that uses volume pvc-1",
        ),
        ("Failed", KEY, "Secret web of the pod has no key token", "add the key token to Secret web"),
        (
            "FailedCreatePodSandBox",
            'no runtime for "gvisor" is configured',
            "the container runtime of worker-1 has no handler gvisor",
            "configure the handler gvisor on worker-1",
        ),
        (
            "FailedMount",
            'MountVolume.MountDevice failed for volume "pvc-2" : rpc error: fsck found errors',
            "volume pvc-2 cannot be used on worker-1: rpc error: fsck found errors",
            "repair what keeps volume pvc-2 from worker-1",
        ),
        ("Odd", "one\x1b[31m two\nthree", "kubelet (Odd, at 2026-11-20 10:00 UTC): one [31m two three", ""),
    ],
)
def test_what_the_kubelet_says(reason: str, message: str, cause: str, cure: str) -> None:
    """A message is said in our words, with its cure; an unknown one is quoted with who wrote it and when."""
    pod = make_pod("p", node="worker-1", status={"phase": "Pending"})
    cluster = make_cluster(NODES, [pod], make_event("Pod", "p", message, reason=reason))
    decision = decide(cluster.pods.pod(0), cluster)
    (found,) = diagnose(decision, "worker-1")
    assert cause in found.cause
    assert [one.summary for one in suggest(decision, node="worker-1").ranked if cure in one.summary] or not cure


@pytest.mark.parametrize(
    ("pod", "event"),
    [
        (make_pod("p", node="worker-1", status={"phase": "Running"}), make_event("Pod", "p", AWS)),
        (make_pod("p", node="worker-1", status={"phase": "Pending"}), make_event("Pod", "other", AWS)),
        (make_pod("p", node="worker-1", status={"phase": "Pending"}), make_event("Pod", "p", AWS, namespace="else")),
        (make_pod("p", node="worker-1", status={"phase": "Pending"}), make_event("Pod", "p", "x", reason="Unhealthy")),
        (make_pod("p", node="worker-1", status={"phase": "Pending"}), make_event("Pod", "p", "x", "default-scheduler")),
    ],
    ids=["it runs", "another pod", "another namespace", "a probe", "the scheduler"],
)
def test_events_that_do_not_matter(pod: Pod, event: Event) -> None:
    cluster = make_cluster(NODES, [pod], event)
    assert not diagnose(decide(cluster.pods.pod(0), cluster), "worker-1")


def test_pending_says_the_same() -> None:
    young = make_pod("young", node="worker-2", status={"startTime": "2026-11-20T10:00:00Z"})
    pod = make_pod("p", node="worker-1", status={"phase": "Pending", "startTime": "2026-11-20T09:00:00Z"})
    cluster = make_cluster(NODES, [pod, young], make_event("Pod", "p", SECRET))
    (found,) = diagnose_cluster(Scheduler(cluster))
    assert found.cause == "scheduling is done, and the secret web-tls that the pod uses does not exist in default"


RESIZED = {
    "phase": "Running",
    "conditions": [
        {"type": "PodResizePending", "status": "True", "reason": "Deferred", "message": "Node didn't have enough: cpu"}
    ],
    "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}}],
}


def test_a_pod_whose_resize_waits() -> None:
    """The pod itself, its node and the list of pending pods say so, as the scheduler counts what is asked for."""
    cluster = make_cluster(NODES, [make_pod("grown", node="worker-1", requests={"cpu": "3"}, status=RESIZED)])
    pod = cluster.pods.pod(0)
    words = "its resize is deferred: Node didn't have enough: cpu"
    assert binding(cluster, pod, "worker-1") == f"runs on worker-1; {words}"
    assert [one.cause for one in diagnose(decide(pod, cluster), "worker-1")] == [words]
    (found,) = diagnose_cluster(Scheduler(cluster))
    assert f"{found.subject} {found.state}: {found.cause}" == (
        "Pod default/grown waits for its resize on worker-1: it counts 3 cpu for a resize that its kubelet defers, and "
        "has 1"
    )
    assert found.advice[0].summary == "withdraw the resize of default/grown: 2 cpu are free on worker-1 at once"


def test_a_resize_that_fails_says_so() -> None:
    said = {"type": "PodResizeInProgress", "status": "True", "reason": "Error", "message": "cgroup is busy"}
    cluster = make_cluster(NODES, [make_pod("p", node="worker-1", status={"phase": "Running", "conditions": [said]})])
    assert binding(cluster, cluster.pods.pod(0), "worker-1") == "runs on worker-1; its resize fails: cgroup is busy"

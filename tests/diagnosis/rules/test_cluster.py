"""Rules about a cluster besides refused pods: ordinals, pods that do not start, lost nodes, sick components."""

from typing import Any

import msgspec
import pytest

from kschedctl.diagnosis.diagnose import diagnose_cluster, diagnose_workload
from kschedctl.objects.coordination import Lease
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import StatefulSet
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import make_claim, make_cluster, make_node, make_object, make_pod, make_storage_class

CREATED = "2026-11-20T09:00:00Z"
NEWEST = "2026-11-20T10:00:00Z"
NOT_READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": CREATED}]}
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def created(pod: Pod, time: str = CREATED) -> Pod:
    plain: dict[str, Any] = msgspec.to_builtins(pod)
    return msgspec.convert({**plain, "metadata": {**plain["metadata"], "creationTimestamp": time}}, Pod)


def deleted(pod: Pod) -> Pod:
    plain: dict[str, Any] = msgspec.to_builtins(pod)
    return msgspec.convert({**plain, "metadata": {**plain["metadata"], "deletionTimestamp": CREATED}}, Pod)


def of_set(ordinal: int, **own: Any) -> Pod:
    return created(make_pod(f"web-{ordinal}", owner=("apps/v1", "StatefulSet", "web"), **own))


def web(replicas: int = 3, policy: str = "") -> StatefulSet:
    spec = {"replicas": replicas, "podManagementPolicy": policy}
    return make_object(StatefulSet, "web", namespace="default", spec=spec, status={"replicas": 1})


def lease(name: str = "kube-scheduler", renewed: str = CREATED, namespace: str = "kube-system") -> Lease:
    spec = {"holderIdentity": "cp-1_6f", "leaseDurationSeconds": 15, "renewTime": renewed}
    return make_object(Lease, name, namespace=namespace, spec=spec)


def waiting(reason: str) -> dict[str, Any]:
    return {"phase": "Pending", "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": reason}}}]}


#: A pod that shows the time of the snapshot.
CLOCK = created(make_pod("clock", node="a", status=READY), NEWEST)
WAITS = created(make_pod("waits", requests={"cpu": "9"}), NEWEST)
NODES = [make_node("a"), make_node("b")]
PLUGIN = ("apps/v1", "DaemonSet", "gpu-device-plugin")
LATE = make_storage_class()
DATA = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}


COMPONENT = {"component": "kube-scheduler"}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
CRASHES = {"name": "kube-scheduler", "restartCount": 41, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
SCHEDULER = make_pod(
    "kube-scheduler-a",
    node="a",
    namespace="kube-system",
    labels=COMPONENT,
    status={"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [CRASHES]},
)


@pytest.mark.parametrize(
    ("pods", "objects", "told"),
    [
        pytest.param(
            [of_set(0, node="a", status=READY), of_set(1, node="b", status=NOT_READY)],
            [web()],
            "StatefulSet default/web has 2 of 3 replicas: web-2 is not created before web-1 is ready, and web-1 is not "
            "ready on b since 2026-11-20 09:00 UTC",
            id="the forerunner is not ready",
        ),
        pytest.param(
            [of_set(0, requests={"cpu": "9"})],
            [web()],
            "StatefulSet default/web has 1 of 3 replicas: web-1 and web-2 are not created before web-0 is ready, and "
            "web-0 is pending",
            id="the forerunner is pending",
        ),
        pytest.param(
            [of_set(0, node="a", status=READY), of_set(1, node="b", status=NOT_READY)],
            [web(policy="Parallel")],
            None,
            id="pods are created in parallel",
        ),
        pytest.param([of_set(0, node="a", status=READY)], [web()], None, id="the next one is about to be created"),
        pytest.param([], [web()], None, id="no pod at all"),
        pytest.param(
            [of_set(0, node="a", status={"phase": "Pending"})],
            [web(replicas=1)],
            "Pod default/web-0 does not start on a: a has had it for 1 h and has not started it; the snapshot "
            "has no Event and no state of a container that says why",
            id="a pod with a node does not start",
        ),
        pytest.param(
            [of_set(0, node="c", status={"phase": "Pending"})],
            [web(replicas=1)],
            "Pod default/web-0 does not start on c: its node c is unreachable: taint node.kubernetes.io/unreachable",
            id="its node is unreachable",
        ),
        pytest.param(
            [of_set(0, node="a", status={"phase": "Pending"}, volumes=[DATA])],
            [web(replicas=1), make_claim("data"), LATE],
            "Pod default/web-0 does not start on a: its claim data is not bound: late binds when the scheduler places "
            "a pod, and this pod's nodeName was set without the scheduler",
            id="its claim waits for the scheduler",
        ),
        pytest.param(
            [created(make_pod("slow", node="a", status=waiting("ImagePullBackOff")))],
            [],
            "Pod default/slow does not start on a: scheduling is done; container c waits: ImagePullBackOff",
            id="its image cannot be pulled",
        ),
        pytest.param(
            [created(make_pod("slow", node="a", status=waiting("ContainerCreating")))],
            [],
            "Pod default/slow does not start on a: a has had it for 1 h and has not started it; the snapshot has no "
            "Event and no state of a container that says why",
            id="its status does not say why",
        ),
        pytest.param(
            [created(make_pod("young", node="a", status={"phase": "Pending"}), NEWEST)], [], None, id="it is starting"
        ),
        pytest.param(
            [of_set(0, node="gone", status=READY)],
            [web(replicas=1)],
            "Node gone no longer exists: 1 pod is still bound to it: default/web-0",
            id="a node that is gone",
        ),
        pytest.param(
            [created(make_pod("tool", node="aa", status={"phase": "Pending"}))],
            [],
            "Pod default/tool does not start: nodeName aa is no node of the cluster (did you mean a?)",
            id="a bare pod with the nodeName of no node",
        ),
        pytest.param(
            [created(make_pod("tool", node="gone", status={"phase": "Pending", "startTime": CREATED}))],
            [],
            "Node gone no longer exists: 1 pod is still bound to it: default/tool",
            id="a bare pod that was started on a node that is gone",
        ),
        pytest.param(
            [deleted(of_set(0, node="c", status=READY))],
            [web(replicas=1)],
            "Node c is unreachable: taint node.kubernetes.io/unreachable: default/web-0 is being deleted there, and "
            "stays until its kubelet answers; its StatefulSet creates no replacement before",
            id="a pod of a StatefulSet that is deleted on an unreachable node",
        ),
        pytest.param(
            [deleted(of_set(0, node="a", status=READY))], [web(replicas=1)], None, id="it is deleted on a healthy node"
        ),
        pytest.param(
            [created(make_pod(f"p{n}", node=f"n{n}", status=READY)) for n in range(5)],
            [],
            None,
            id="a snapshot without most nodes",
        ),
        pytest.param(
            [created(make_pod("plug", node="b", namespace="gpu", owner=PLUGIN, status=NOT_READY)), WAITS],
            [],
            "DaemonSet gpu/gpu-device-plugin is not ready on 1 of 1 nodes: its pods are not ready on b since "
            "2026-11-20 09:00 UTC: what it provides there, such as devices, volumes or the network, is missing",
            id="a device plugin that is not ready",
        ),
        pytest.param(
            [created(make_pod("plug", node="b", namespace="gpu", owner=PLUGIN, status=NOT_READY))],
            [],
            None,
            id="no pod is pending",
        ),
        pytest.param(
            [created(make_pod("plug", node="c", namespace="gpu", owner=PLUGIN, status=NOT_READY)), WAITS],
            [],
            None,
            id="its node is unreachable, which is reported as such",
        ),
        pytest.param(
            [WAITS],
            [lease()],
            "Lease kube-system/kube-scheduler has no living holder: kube-scheduler's Lease was last renewed 1 h before "
            "the snapshot: no scheduler is running",
            id="pods are newer than the scheduler's Lease",
        ),
        pytest.param(
            [WAITS],
            [lease(), lease("operator", "2026-11-20T08:59:58Z", "tools")],
            None,
            id="another Lease was renewed as late: the Leases were listed long before the pods",
        ),
        pytest.param(
            [WAITS],
            [lease(), lease("operator", "2025-11-20T08:59:58Z", "tools")],
            "Lease kube-system/kube-scheduler has no living holder: kube-scheduler's Lease was last renewed 1 h before "
            "the snapshot: no scheduler is running",
            id="another Lease was given up long ago",
        ),
        pytest.param(
            [],
            [lease("kube-controller-manager"), lease("node-1", NEWEST, "kube-node-lease")],
            "Lease kube-system/kube-controller-manager has no living holder: kube-controller-manager's Lease was last "
            "renewed 1 h before the snapshot: no controller creates pods or marks lost nodes",
            id="no controllers",
        ),
        pytest.param([WAITS], [lease(renewed="2026-11-20T09:59:50Z")], None, id="a Lease that is renewed"),
        pytest.param(
            [WAITS, SCHEDULER],
            [],
            "Pod kube-system/kube-scheduler-a does not run: no scheduler is running: its pod kube-scheduler-a is not "
            "ready (CrashLoopBackOff, 41 restarts)",
            id="the only scheduler crashes",
        ),
        pytest.param(
            [WAITS, SCHEDULER],
            [lease()],
            "Lease kube-system/kube-scheduler has no living holder: kube-scheduler's Lease was last renewed 1 h before "
            "the snapshot, and its pod kube-scheduler-a is not ready (CrashLoopBackOff, 41 restarts): no scheduler is "
            "running",
            id="the only scheduler crashes, and its Lease has ended",
        ),
        pytest.param(
            [
                WAITS,
                SCHEDULER,
                make_pod("kube-scheduler-b", node="b", namespace="kube-system", labels=COMPONENT, status=READY),
            ],
            [],
            None,
            id="another scheduler runs",
        ),
    ],
)
def test_problems(pods: list[Pod], objects: list[ApiObject], told: str | None) -> None:
    nodes = [*NODES, make_node("c", taints=["node.kubernetes.io/unreachable:NoExecute"])]
    found = diagnose_cluster(Scheduler(make_cluster(nodes, [CLOCK, *pods], *objects)))
    assert [f"{one.subject} {one.state}: {one.cause}" for one in found] == ([told] if told else [])


def test_why_the_pod_that_others_wait_for_is_not_ready() -> None:
    """The state of its container is the cause, and the cure of the container comes first; so it is for one workload."""
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    state = {"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended}
    sick = {**NOT_READY, "containerStatuses": [state]}
    containers = [{"name": "c", "resources": {"limits": {"memory": "1Gi"}}}]
    pods = [of_set(0, node="a", status=READY), of_set(1, node="b", status=sick, containers=containers)]
    scheduler = Scheduler(make_cluster(NODES, pods, web()))
    found = diagnose_workload(scheduler, ("StatefulSet", "default", "web"))
    assert found is not None
    assert found.cause.endswith("container c, CrashLoopBackOff, last exit code 137 (OOMKilled)")
    assert found.advice[0].summary.startswith("raise the memory limit of container c, which is 1Gi")
    assert diagnose_workload(scheduler, ("StatefulSet", "default", "other")) is None

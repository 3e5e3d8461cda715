"""Problems of nodes, components and workloads that no decision for a pod shows."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import LOST, PENDING, PodRecord
from kschedctl.common.text.patterns import pattern
from kschedctl.common.wording import counted, duration, listed
from kschedctl.controllers.workloads.ownership import wanted_replicas
from kschedctl.diagnosis.diagnosis import Advice, ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.evidence.containers import state_words, stopped_containers
from kschedctl.diagnosis.node_health import condition_of_pod, health_problem, is_unhealthy, silent_node_advice, since
from kschedctl.diagnosis.rules.unstarted import is_misnamed, misnamed_node, pod_problem, pods_of_lost_nodes
from kschedctl.objects.coordination import Lease
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import label_map_selector
from kschedctl.objects.workload import StatefulSet
from kschedctl.scheduler.framework.remedy import delete_command
from kschedctl.scheduler.framework.risk import Risk

_NAMESPACE: Final = "kube-system"
SCHEDULER: Final = "kube-scheduler"
#: The components, each with what does not happen without it.
COMPONENTS: Final = {
    SCHEDULER: "no scheduler is running",
    "kube-controller-manager": "no controller creates pods or marks lost nodes",
}
#: A Lease that is older than its duration and this time has no holder that lives.
_GRACE: Final = timedelta(minutes=1)


def idle_control_plane(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """The Lease of kube-scheduler or kube-controller-manager is no longer renewed, or none of its pods is ready.

    A pod without a decision then stays pending without events, and a workload gets no pods at all. A Lease is renewed
    every two seconds and lasts 15 seconds. Its age is that at the time of the snapshot, or at the newest renewal of another
    Lease that was still renewed: a snapshot of a large cluster takes minutes, and its Leases were all listed at once.

    Operators look at the component's pods on the control plane: its manifest, its certificates, the API server's load.
    """
    # Yield the components whose Lease is too old.
    for name in COMPONENTS:
        found = idle_component(situation.cluster, name)
        if found is not None:
            yield found


def idle_component(cluster: Cluster, name: str) -> ClusterDiagnosis | None:
    """Return the problem of a component whose Lease is too old, or whose pods are all ill; ``None`` for neither."""
    lease, ill = cluster.get(Lease, name, _NAMESPACE), _ill_pod(cluster, name)
    renewed = lease.spec.renew_time if lease is not None else None
    words = f"its pod {ill.metadata.name} is {_pod_state(ill)}" if ill is not None else ""
    if lease is None or renewed is None:
        if ill is None:
            return None
        cause, holder = f"{COMPONENTS[name]}: {words}", ""
    else:
        others = (each.spec.renew_time for each in cluster.list(Lease) if each.name not in COMPONENTS)
        newest = (time for time in others if time is not None and time > renewed - _GRACE)
        now = max(newest, default=cluster.taken_at)
        if now is None or now - renewed <= _GRACE + timedelta(seconds=lease.spec.lease_duration_seconds):
            return None
        age = duration(int((now - renewed).total_seconds()))
        cause, holder = f"{name}'s Lease was last renewed {age} before the snapshot", lease.spec.holder_identity
        cause += f"{f', and {words}' if words else ''}: {COMPONENTS[name]}"
    n_pending = int((cluster.pods.node_row == PENDING).sum()) if name == SCHEDULER else 0
    where = f"{ill.metadata.name} -n {_NAMESPACE}" if ill is not None else f"-n {_NAMESPACE} -l component={name}"
    return ClusterDiagnosis(
        rule="idle-control-plane",
        cause=cause,
        evidence=(
            *((f"the last holder was {holder}{since(renewed)}",) if holder else ()),
            *((f"{counted(n_pending, 'pod')} without a node cannot be scheduled",) if n_pending else ()),
        ),
        advice=(
            Advice(
                summary=f"repair {ill.metadata.name}: look at its log" if ill is not None else f"start {name} again",
                risk=Risk.MISTAKE,
                untried="it runs on the control plane",
                command=f"kubectl logs {where} --previous" if ill is not None else f"kubectl get pods {where}",
            ),
        ),
        checks=(f"kubectl logs -n {_NAMESPACE} -l component={name} --previous",),
        kind="Lease" if lease is not None else "Pod",
        namespace=_NAMESPACE,
        name=name if lease is not None or ill is None else ill.metadata.name,
        state="has no living holder" if lease is not None else "does not run",
        since=renewed,
    )


def _ill_pod(cluster: Cluster, name: str) -> PodRecord | None:
    """Return the first pod of a component of the control plane if none of them is ready; ``None`` if one is."""
    pods = cluster.pods
    classes = pods.classes_matching(label_map_selector({"component": name})) & pods.classes_in(frozenset((_NAMESPACE,)))
    found = [pods.records[index] for index in np.flatnonzero(classes[pods.class_id]).tolist()]
    ready = [condition_of_pod(record, "Ready") for record in found]
    return found[0] if found and all(each is not None and each.status == "False" for each in ready) else None


def _pod_state(record: PodRecord) -> str:
    stopped = next(stopped_containers(record.status), None)
    return "not ready" + (f" ({state_words(stopped)})" if stopped is not None else "")


def lost_nodes(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Pods that are bound to a node that no longer exists.

    The pod garbage collector deletes such pods, but a pod with a finalizer, or whose controller waits for the kubelet,
    stays. A StatefulSet creates no replacement before the old pod is gone.

    Operators delete the pods by force once they know that the machine is gone. The rule is silent if the snapshot seems to
    lack nodes: if more nodes are gone than are left.

    A pod without a controller that never started was created with the ``nodeName`` of a node that does not exist, often a
    mistyped one. Operators recreate it.
    """
    # Yield the nodes that are gone, with the pods that are still bound to them.
    pods = situation.cluster.pods
    # If more nodes are missing than the snapshot has, it seems to lack nodes, and none of them counts as gone.
    lost = pods_of_lost_nodes(situation.cluster)
    for node, members in (lost if len(lost) <= len(situation.cluster.nodes) else {}).items():
        misnamed = [index for index in members if is_misnamed(pods.pod(index))]
        for pod in map(pods.pod, misnamed):
            found = misnamed_node(situation.cluster, pod, node)
            yield ClusterDiagnosis(
                rule=found.rule,
                cause=found.cause,
                advice=found.advice,
                checks=found.checks,
                kind=Pod.__name__,
                namespace=pod.namespace,
                name=pod.name,
                state="does not start",
                pods=(pod.key,),
                since=pod.metadata.creation_timestamp,
            )
        keys = tuple(pods.key(index) for index in members if index not in misnamed)
        if not keys:
            continue
        yield ClusterDiagnosis(
            rule="lost-node",
            cause=f"{counted(len(keys), 'pod')} {'is' if len(keys) == 1 else 'are'} still bound to it: "
            f"{listed(keys, most=3)}",
            advice=(
                Advice(
                    summary=f"delete {listed(keys, most=3)} by force, if the machine of {node} is gone",
                    risk=Risk.EVICTION,
                    untried="controllers create replacements",
                    command=f"{delete_command(keys)} --force --grace-period=0",
                ),
            ),
            checks=(f"kubectl get node {node}",),
            kind="Node",
            namespace="",
            name=node,
            state="no longer exists",
            pods=keys,
        )


_PARALLEL: Final = "Parallel"
#: At most this many ordinals of a StatefulSet are looked at.
_MOST: Final = 1000


#: The name of the rule below.
ORDINAL_WAITS: Final = "ordinal-waits"


def ordinal_waits(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """A StatefulSet that creates its pods in order, and waits for a pod that is not ready before it creates the next one.

    With ``podManagementPolicy: OrderedReady``, the default, web-2 is created after web-1 is running and ready. If web-1 is
    pending or crashes, web-2 does not exist, and nothing says so.

    Operators repair the first pod that is not ready; the rest follows. ``Parallel`` needs a new StatefulSet.
    """
    # Yield the StatefulSets in which a pod that is not ready keeps others from being created.
    for obj in situation.cluster.list(StatefulSet):
        if obj.spec.pod_management_policy == _PARALLEL or obj.metadata.deletion_timestamp is not None:
            continue
        if not situation.concerns((StatefulSet.__name__, obj.namespace, obj.name)):
            continue
        n_wanted, start = wanted_replicas(obj), obj.spec.ordinals.start
        index: Mapping[tuple[str, str], int] = situation.cluster.pods.index
        names = [f"{obj.name}-{ordinal}" for ordinal in range(start, start + min(n_wanted, _MOST))]
        missing = [name for name in names if (obj.namespace, name) not in index]
        if not missing or len(missing) == len(names):
            continue
        before = [(name, index[obj.namespace, name]) for name in names[: names.index(missing[0])]]
        for name, row in before:
            problem = _readiness_problem(situation, row)
            if not problem:
                continue
            pod, node = situation.cluster.pods.pod(row), situation.cluster.pods.records[row].node_name
            why = next(pod_problem(situation.cluster, pod, node), None) if node else None
            yield ClusterDiagnosis(
                rule=ORDINAL_WAITS,
                cause=f"{listed(missing, most=2)} {'is' if len(missing) == 1 else 'are'} not created before {name} is ready, "
                f"and {name} {problem}",
                evidence=("podManagementPolicy is OrderedReady, which a StatefulSet cannot change",),
                advice=(
                    *(why.advice if why is not None else ()),
                    Advice(
                        summary=f"get {obj.namespace}/{name} ready; {listed(missing, most=2)} "
                        f"{'follows' if len(missing) == 1 else 'follow'}",
                        risk=Risk.MISTAKE,
                        untried="the StatefulSet controller creates the pods",
                        command=f"kubectl describe pod -n {obj.namespace} {name}",
                    ),
                ),
                kind=StatefulSet.__name__,
                namespace=obj.namespace,
                name=obj.name,
                state=f"has {n_wanted - len(missing)} of {counted(n_wanted, 'replica')}",
                missing=len(missing),
                since=situation.cluster.pods.records[row].metadata.creation_timestamp,
            )
            break


def _readiness_problem(situation: ClusterSituation, index: int) -> str:
    """Return the reason why a pod is not ready, as a clause; empty for a pod that seems ready."""
    pods = situation.cluster.pods
    record, row = pods.records[index], pods.node_row[index]
    if record.metadata.deletion_timestamp is not None:
        return f"is being deleted{since(record.metadata.deletion_timestamp)}"
    if row == PENDING:
        return "is pending"
    if row == LOST:
        return f"is on {record.node_name}, a node that no longer exists"
    ready = condition_of_pod(record, "Ready")
    if ready is not None and ready.status == "False":
        stopped = next(stopped_containers(record.status), None)
        why = f": container {stopped.name}, {state_words(stopped)}" if stopped is not None else ""
        return f"is not ready on {record.node_name}{since(ready.last_transition_time)}{why}"
    return f"does not start on {record.node_name}" if record.status.phase == "Pending" else ""


_SYSTEM: Final = "kube-system"
#: The names of such components outside ``kube-system``.
_COMPONENT: Final = pattern(
    r"device-plugin|deviceplugin|(^|-)csi(-|$)|(^|-)cni(-|$)|calico|cilium|flannel|weave|kube-proxy|"
    r"dra-driver|kubelet-plugin|multus"
)


def sick_components(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Pods of the node's own components that are not ready: device plugins, CSI drivers, the network plugin, kube-proxy.

    Without them a node offers no devices, attaches no volumes or starts no pods. They matter if pods are pending, so the
    rule is silent without pending pods.

    Operators look at the component's log and restart it.
    """
    # Yield the DaemonSets of components with pods that are not ready on healthy nodes.
    if not situation.n_pending:
        return
    pods, nodes = situation.cluster.pods, situation.cluster.nodes
    for (kind, namespace, name), members in pods.by_controller.items():
        if kind != "DaemonSet" or not (namespace == _SYSTEM or _COMPONENT.search(name)):
            continue
        ill: dict[str, datetime | None] = {}
        for index in members:
            record, row = pods.records[index], int(pods.node_row[index])
            ready = condition_of_pod(record, "Ready")
            if (
                record.metadata.deletion_timestamp is not None
                or row < 0
                or ready is None
                or ready.status != "False"
                or is_unhealthy(nodes.objects[row])
            ):
                continue
            ill[record.node_name] = ready.last_transition_time
        if ill:
            first = min((time for time in ill.values() if time is not None), default=None)
            yield ClusterDiagnosis(
                rule="sick-component",
                cause=f"its pods are not ready on {listed(list(ill), most=3)}{since(first)}: what it provides there, "
                "such as devices, volumes or the network, is missing",
                advice=(
                    Advice(
                        summary=f"repair DaemonSet {namespace}/{name} on {listed(list(ill), most=3)}",
                        risk=Risk.MISTAKE,
                        untried="the component runs on the nodes",
                        command=f"kubectl rollout restart daemonset -n {namespace} {name}",
                    ),
                ),
                checks=(f"kubectl logs -n {namespace} daemonset/{name}",),
                kind="DaemonSet",
                namespace=namespace,
                name=name,
                state=f"is not ready on {len(ill)} of {len(members)} nodes",
                since=first,
            )


#: A deletion is stuck if the grace period has been over for five minutes.
_PATIENCE: Final = 300
_STUCK_DELETIONS_MOST: Final = 3


def stuck_deletions(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Pods of a StatefulSet that are being deleted on an unhealthy node, and stay because their kubelet does not answer.

    A pod is gone when its kubelet has confirmed its end. A StatefulSet creates no replacement before, as two pods of one
    name could write to one volume.

    Operators get the node back. If its machine is off, they give it the taint ``node.kubernetes.io/out-of-service``: the
    pods are then deleted by force, and their volumes detached.
    """
    # Yield the unhealthy nodes with pods of StatefulSets whose deletion does not end.
    cluster = situation.cluster
    by_node: dict[int, list[int]] = {}
    pods = cluster.pods
    for index in np.flatnonzero(pods.class_terminating[pods.class_id] & (pods.node_row >= 0)).tolist():
        metadata = pods.records[index].metadata
        ends, owner = metadata.deletion_timestamp, metadata.controller
        if ends is None or owner is None or owner.kind != "StatefulSet":
            continue
        row = int(pods.node_row[index])
        if is_unhealthy(cluster.nodes.objects[row]) and situation.seconds_since(ends) > _PATIENCE:
            by_node.setdefault(row, []).append(index)
    for row, members in by_node.items():
        node = cluster.nodes.objects[row]
        keys = tuple(cluster.pods.key(index) for index in members)
        ends_at = [cluster.pods.records[index].metadata.deletion_timestamp for index in members]
        names, one = listed(keys, most=_STUCK_DELETIONS_MOST), len(keys) == 1
        yield ClusterDiagnosis(
            rule="stuck-deletion",
            cause=f"{names} {'is' if one else 'are'} being deleted there, and {'stays' if one else 'stay'} until its "
            f"kubelet answers; {'its' if one else 'their'} StatefulSet creates no replacement before",
            advice=silent_node_advice(node.name, f"get {node.name} back, so that its kubelet ends {names}"),
            checks=(f"kubectl describe node {node.name}",),
            kind="Node",
            namespace="",
            name=node.name,
            state=f"is {health_problem(node)}",
            pods=keys,
            since=min((time for time in ends_at if time is not None), default=None),
        )

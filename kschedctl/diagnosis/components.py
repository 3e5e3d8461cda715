"""Pods of the cluster's own components: provisioners of volumes, network plugins, and agents that set up nodes.

Components are recognized by the names of their pods and namespaces, as nothing else in a snapshot tells them apart.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.cluster.records import PodRecord
from kschedctl.common.text.patterns import pattern
from kschedctl.common.wording import listed
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.controllers.workloads.template import NODE_BOUND
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.diagnosis.evidence.containers import state_words, stopped_containers
from kschedctl.diagnosis.evidence.events import events_about, one_line
from kschedctl.diagnosis.node_health import condition_of_pod, health_taints, since
from kschedctl.objects.pod import PodSpec, is_startup_taint
from kschedctl.objects.volume import CSIDriver, PersistentVolumeClaim
from kschedctl.objects.workload import DaemonSet
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.plugins.taint_toleration import untolerated_taint
from kschedctl.scheduler.volumes.csi_nodes import CSINodes, driver_of

#: The names of pods of network plugins (CNI).
_NETWORK_PLUGIN: Final = pattern(
    r"(^|-)cni(-|$)|calico|canal|cilium|flannel|weave|antrea|kindnet|kube-ovn|ovnkube|aws-node|kube-router"
)
#: The names of pods that may create volumes.
_PROVISIONER: Final = pattern(r"csi|provisioner")
#: Words in the names of provisioners and taints that tell no two of them apart.
_COMMON: Final = frozenset(
    {"csi", "com", "io", "k8s", "x", "org", "net", "dev", "cloud", "cluster", "local", "driver", "storage", "sigs"}
    | {"kubernetes", "provisioner", "external", "node", "agent", "not", "ready", "notready", "unready", "startup"}
    | {"taint", "ignore", "autoscaler", "initialized", "uninitialized", "un"}
)


def ill_network_plugin(cluster: Cluster, row: int) -> tuple[str, str, str] | None:
    """Return the workload of a network plugin whose pod on a node is not ready: kind, namespace and name."""
    for index in cluster.pods.on_node(row).tolist():
        record = cluster.pods.records[index]
        if _NETWORK_PLUGIN.search(record.metadata.name) and not _is_ready(record):
            return workload_of(cluster, record.metadata)
    return None


def _ill_provisioner(cluster: Cluster, provisioner: str) -> tuple[tuple[str, str, str], str] | None:
    """Return the workload of a provisioner none of whose pods is ready, and its state.

    The pods of DaemonSets serve single nodes; they only count for a provisioner without other pods.

    Args:
        provisioner: The provisioner of a class, or the CSI driver that has replaced it.

    Returns: Kind, namespace and name of the workload, and its state, such as ``is not ready``; ``None`` if a pod is
        ready or none is recognized.
    """
    return ill_component(
        cluster, lambda key: bool(_PROVISIONER.search(key.partition("/")[2]) and _n_common(provisioner, key))
    )


def component_repair(component: tuple[str, str, str], untried: str) -> Advice:
    """Return the advice to repair an ill workload, given by kind, namespace and name."""
    kind, namespace, name = component
    return Advice(
        summary=f"repair {kind} {namespace}/{name}: look at its log and its events",
        risk=Risk.MISTAKE,
        untried=untried,
        command=f"kubectl logs -n {namespace} {kind.lower()}/{name} --all-containers --previous",
    )


def ill_component(cluster: Cluster, belongs: Callable[[str], bool]) -> tuple[tuple[str, str, str], str] | None:
    """Return the workload of a component none of whose pods is ready, and its state, as for a provisioner.

    Args:
        belongs: A test of a pod, by its ``namespace/name``.
    """
    found = [
        record
        for record in cluster.pods.records
        if record.metadata.deletion_timestamp is None
        and record.status.phase not in ("Succeeded", "Failed")
        and belongs(f"{record.metadata.namespace}/{record.metadata.name}")
    ]
    central = [
        record for record in found if (owner := record.metadata.controller) is None or owner.kind != "DaemonSet"
    ] or found
    if not central or any(record.node_name and _is_ready(record) for record in central):
        return None
    workload = workload_of(cluster, central[0].metadata)
    started = next((record for record in central if record.node_name), None)
    if started is None:
        return workload, "has only pending pods"
    return workload, state_of_pod(cluster, started)


def _n_common(component: str, name: str) -> int:
    """Return the number of words of a component, such as ``ebs`` of ``ebs.csi.aws.com``, that a pod's name contains."""
    before, _, after = component.partition("csi.")
    split = (
        [word for word in re.split(r"[./_-]+", part.lower()) if word and word not in _COMMON]
        for part in (before, after)
    )
    words, full = next(filter(None, split), []), name.lower()
    # A short word such as pd must not be a part of another one, except in pdcsi.
    parts = {part.replace("csi", "") for part in re.split(r"[/-]+", full)}
    return sum(word in (parts if len(word) < len("abc") else full) for word in words)


def _is_ready(record: PodRecord) -> bool:
    """Report whether a pod is not known to be unready; the stored form keeps the condition only if it is false."""
    ready = condition_of_pod(record, "Ready")
    return ready is None or ready.status == "True"


# Agents: the pods with which a CSI driver, a network plugin or a device driver serves each node.


class Agent(msgspec.Struct, frozen=True):
    """The pod of an agent on a node, or the DaemonSet that has no pod there."""

    #: The pod, ``namespace/name``; empty if there is none.
    pod: str
    #: The state as a verb phrase, such as ``runs`` or ``is not ready since 2026-11-20 09:41 UTC``.
    state: str

    @property
    def runs(self) -> bool:
        return self.state == RUNS

    @property
    def clause(self) -> str:
        """The pod and its state, as a clause."""
        return f"its pod {self.pod} {self.state}" if self.pod else self.state

    def cure(self, node: str) -> str:
        """Return what gets the agent to serve a node, in the imperative."""
        if not self.pod:
            return f"get {self.state.partition(' has no pod')[0]} to run on {node}"
        if self.runs:
            return f"restart pod {self.pod} on {node}"
        if self.state.startswith(_STARTED):
            return f"wait until pod {self.pod} has set up {node}"
        return f"repair pod {self.pod} on {node}: look at its log and its events"

    @property
    def command(self) -> str:
        """The first command of the cure."""
        namespace, _, name = self.pod.partition("/")
        if not self.pod:
            return f"# {self.state}"
        if self.runs:
            return f"kubectl delete pod -n {namespace} {name}"
        if self.state.startswith(_STARTED):
            return f"kubectl get pod -n {namespace} {name}"
        return f"kubectl logs -n {namespace} {name} --all-containers --previous"


RUNS: Final = "runs"
_STARTED: Final = "has started"
_PLURALS: Final = {"runs": "run", "is": "are", "has": "have"}
#: An agent that has run for so long has had the time to set up its node.
_SETTLED: Final = timedelta(minutes=3)


def agent_on(cluster: Cluster, component: str, row: int, kind: str = "csi") -> Agent | None:
    """Return the agent of a component, such as CSI driver ``ebs.csi.aws.com``, on a node; ``None`` if none is known.

    Args:
        kind: A word in the names of such agents, which decides between several that match.
    """
    drivers = CSINodes.of(cluster).drivers.union(each.name for each in cluster.list(CSIDriver))

    def rank(namespace: str, name: str) -> tuple[int, bool, int]:
        full = f"{namespace}/{name}"
        # The name of the only driver of a cluster need not be in that of its pods, as in hcloud-csi-node.
        known = _n_common(component, full) or int(drivers == {component} and kind in full)
        return known, kind in full, -len(name)

    found = [
        (rank(namespace, name), record)
        for index in cluster.pods.on_node(row).tolist()
        if (record := cluster.pods.records[index]).metadata.deletion_timestamp is None
        and (owner := record.metadata.controller) is not None
        and owner.kind in NODE_BOUND
        for _, namespace, name in (workload_of(cluster, record.metadata),)
    ]
    best = max(found, key=lambda each: each[0], default=None)
    sets = [(rank(each.namespace, each.name), each) for each in cluster.list(DaemonSet)]
    absent = max(sets, key=lambda each: each[0], default=None)
    if best is not None and best[0][0] and (absent is None or best[0] >= absent[0]):
        record = best[1]
        return Agent(f"{record.metadata.namespace}/{record.metadata.name}", state_of_pod(cluster, record))
    if absent is None or not absent[0][0]:
        return None
    return Agent("", absence(cluster, absent[1], row))


def state_of_pod(cluster: Cluster, record: PodRecord) -> str:
    """Return the state of a component's pod as a verb phrase, such as ``runs``."""
    ready, started, now = condition_of_pod(record, "Ready"), record.status.start_time, cluster.taken_at
    if not _is_ready(record) or record.status.phase == "Pending":
        stopped = next(stopped_containers(record.status), None)
        why = f" ({state_words(stopped)})" if stopped is not None else ""
        return f"is not ready{since(ready.last_transition_time) if ready is not None else ''}{why}"
    if started is not None and now is not None and now - started < _SETTLED:
        return f"{_STARTED}{since(started).replace(' since', ' at')}"
    return RUNS


def startup_agent(cluster: Cluster, row: int) -> Agent | None:
    """Return the agent that is to take the first health taint off a node; ``None`` if none is known to."""
    taint = next(iter(health_taints(cluster.nodes.objects[row])), None)
    return agent_on(cluster, taint.key, row) if taint is not None and is_startup_taint(taint) else None


def agents_words(agents: Sequence[Agent]) -> str:
    """Return agents of one component in the same state as a clause that follows the problem of their nodes."""
    pods, first = [each.pod for each in agents], agents[0]
    if not first.pod:
        return f", and {first.state}"
    verb, space, rest = first.state.partition(" ")
    verb = verb if len(pods) == 1 else _PLURALS[verb]
    names = f"pod{'s' * (len(pods) > 1)} {listed(pods, most=3)}"
    return f", {'although its' if first.runs else 'whose'} {names} {verb}{space}{rest}"


def absence(cluster: Cluster, of: DaemonSet, row: int) -> str:
    """Return the absence of a DaemonSet's pod from a node as a clause, with what keeps the pod away."""
    spec = of.spec.template.spec if of.spec.template is not None else PodSpec()
    taint = untolerated_taint(cluster.nodes.objects[row].spec.taints, spec.tolerations)
    why = f", as it does not tolerate the taint {taint}" if taint is not None else ""
    if not nodes_matching_pod(cluster.nodes, spec)[row]:
        why = ", as its node selector does not match the node"
    return f"DaemonSet {of.namespace}/{of.name} has no pod there{why}"


# Provisioners of volumes, and their CSI drivers.


def provisioner_fault(cluster: Cluster, provisioner: str) -> tuple[str, list[Advice], bool]:
    """Return what keeps a provisioner from creating volumes, as a clause, its repair, and whether its pods are ill.

    The clause is empty if nothing is known to. Whether a driver is registered is unknown for a provisioner that is no
    CSI driver, and in a snapshot without CSINodes.
    """
    driver, nodes = driver_of(provisioner), CSINodes.of(cluster)
    if (ill := _ill_provisioner(cluster, driver)) is not None:
        (kind, namespace, name), state = ill
        repair = component_repair(ill[0], "the provisioner creates the volume outside the scheduler")
        return f"{kind} {namespace}/{name} {state}", [repair], True
    registered = cluster.get(CSIDriver, driver) is not None or nodes.installed(driver).any()
    if registered or not nodes.present.any() or not is_csi_driver(cluster, driver):
        return "", [], False
    install = Advice(
        summary=f"install CSI driver {driver}, or repair it: no node has registered it",
        risk=Risk.MISTAKE,
        untried="the driver creates the volume outside the scheduler",
        command=f"kubectl get csidriver {driver}; kubectl get pods -A | grep -i csi",
    )
    return f"no node has registered CSI driver {driver}", [install], False


def is_csi_driver(cluster: Cluster, provisioner: str) -> bool:
    """Report whether a provisioner is a CSI driver: it is registered as one, or its name says so."""
    registered = cluster.get(CSIDriver, provisioner) is not None or CSINodes.of(cluster).installed(provisioner).any()
    return bool(registered) or "csi" in provisioner.lower()


_PROVISIONING_FAILED: Final = "ProvisioningFailed"
_FAILED_TO_PROVISION: Final = pattern(r'^failed to provision volume with StorageClass "[^"]*": ')


def failure_of_provisioner(cluster: Cluster, claims: Iterable[PersistentVolumeClaim]) -> str:
    """Return the newest words of a provisioner that could not create a claim's volume; empty without any."""
    kind = PersistentVolumeClaim.__name__
    events = (event for each in claims for event in events_about(cluster, kind, each.namespace, each.name))
    message = next((event.message for event in events if event.reason == _PROVISIONING_FAILED), "")
    return one_line(_FAILED_TO_PROVISION.sub("", message))


def repair_of_provisioner(claims: str, provisioner: str, words: str) -> str:
    """Return the cure for claims whose volumes are not created, in the imperative.

    Args:
        claims: The claims as text, such as ``claim data``.
        words: What the provisioner says, from ``failure_of_provisioner``.
    """
    if words:
        return f"repair what provisioner {provisioner} reports of {claims}: {words}"
    return f"look at the events of {claims} and the log of provisioner {provisioner}"

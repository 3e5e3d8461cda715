"""The Pod (core/v1), limited to the fields that scheduling reads."""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import field

from kschedctl.common.text.patterns import pattern
from kschedctl.objects.core import Condition, ResourceList, Taint
from kschedctl.objects.meta import ApiObject, ApiStruct, Int32, Int64, LabelSelector, Time
from kschedctl.objects.selectors import NodeAffinity
from kschedctl.objects.volume import Volume

#: The annotation of a pod that says how soon its ReplicaSet deletes it: the lowest cost first.
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"


class ContainerPort(ApiStruct, frozen=True):
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = ""


class ResourceClaimRequest(ApiStruct, frozen=True):
    """A container's use of one of the pod's resource claims."""

    name: str = ""
    request: str = ""


class ResourceRequirements(ApiStruct, frozen=True):
    requests: ResourceList = {}
    limits: ResourceList = {}
    claims: tuple[ResourceClaimRequest, ...] = ()


class ContainerRestartRule(ApiStruct, frozen=True):
    action: str = ""


class VolumeMount(ApiStruct, frozen=True):
    bind_mount_options: tuple[str, ...] = ()


class SeccompProfile(ApiStruct, frozen=True):
    type: str = ""


class SecurityContext(ApiStruct, frozen=True):
    """The security context of a pod or of a container."""

    seccomp_profile: SeccompProfile | None = None


class EphemeralContainer(ApiStruct, frozen=True):
    """A container that was added to a running pod, which has no resources."""

    name: str = ""
    security_context: SecurityContext = SecurityContext()


class Container(ApiStruct, frozen=True):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    security_context: SecurityContext = SecurityContext()


class Toleration(ApiStruct, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class PodAffinityTerm(ApiStruct, frozen=True):
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(ApiStruct, frozen=True):
    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(ApiStruct, frozen=True):
    """The terms of podAffinity or of podAntiAffinity, which have the same fields."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(ApiStruct, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(ApiStruct, frozen=True):
    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    match_label_keys: tuple[str, ...] = ()


class PodSchedulingGate(ApiStruct, frozen=True):
    name: str = ""


class PodResourceClaim(ApiStruct, frozen=True):
    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodSchedulingGroup(ApiStruct, frozen=True):
    pod_group_name: str = ""


class PodSpec(ApiStruct, frozen=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[EphemeralContainer, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    scheduler_name: str = ""
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    overhead: ResourceList = {}
    resources: ResourceRequirements = ResourceRequirements()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    runtime_class_name: str = ""
    host_network: bool = False
    host_users: bool | None = None
    security_context: SecurityContext = SecurityContext()
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None
    scheduling_group: PodSchedulingGroup | None = None

    @property
    def pod_group_name(self) -> str:
        """The PodGroup that the pod is a member of, in its own namespace; empty if none."""
        return self.scheduling_group.pod_group_name if self.scheduling_group is not None else ""


class ContainerStateWaiting(ApiStruct, frozen=True):
    reason: str = ""
    message: str = ""


class ContainerStateTerminated(ApiStruct, frozen=True):
    exit_code: Int32 = 0
    reason: str = ""
    message: str = ""


class ContainerState(ApiStruct, frozen=True):
    """The state of a container, as far as it explains why the container does not run."""

    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(ApiStruct, frozen=True):
    """The state and the resources of a container; ``resources`` is ``None`` if the kubelet has not reported any."""

    name: str = ""
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    restart_count: Int32 = 0
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None


class PodResourceClaimStatus(ApiStruct, frozen=True):
    name: str = ""
    resource_claim_name: str = ""


class PodStatus(ApiStruct, frozen=True):
    phase: str = ""
    nominated_node_name: str = ""
    start_time: Time | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = {}
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class Pod(ApiObject, frozen=True, kw_only=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """The pod's ``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


def pod_affinity_terms(spec: PodSpec) -> Iterator[PodAffinityTerm]:
    """Yield all terms of a pod's affinity and anti-affinity to other pods, required and preferred."""
    if spec.affinity is None:
        return
    for terms in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
        if terms is not None:
            yield from terms.required_during_scheduling_ignored_during_execution
            for weighted in terms.preferred_during_scheduling_ignored_during_execution:
                yield weighted.pod_affinity_term


# Matching of tolerations and taints (core/v1 ``Toleration``).

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
EFFECTS: Final = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
#: The key prefix of taints that Kubernetes itself adds to nodes.
OWN_TAINTS: Final = "node.kubernetes.io/"
#: The keys of the taints of the control plane; ``master`` is the one before Kubernetes 1.24.
CONTROL_PLANE_TAINTS: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
#: The key of the taint of nodes for the add-ons of the cluster, such as the system pool of AKS.
CRITICAL_ADDONS_ONLY: Final = "CriticalAddonsOnly"
#: The key prefixes of taints that protect pods from a node: those that Kubernetes, a cloud provider, an agent of the
#: node or a node autoscaler manages, and those of the control plane. No ordinary pod tolerates them. If a user removes
#: one that is managed, the taint is added again, or the node is deleted.
UNSAFE_TAINTS: Final = (
    OWN_TAINTS,
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/",
    "node.cilium.io/",
    "eks.amazonaws.com/compute-type",
    *CONTROL_PLANE_TAINTS,
)
#: The key of the taint of virtual nodes, which run pods that are made for them.
VIRTUAL_KUBELET: Final = "virtual-kubelet.io/provider"
#: The key of the taint of nodes with another operating system, such as the Windows nodes of GKE.
OS_TAINT: Final = "node.kubernetes.io/os"
#: Keys of taints that an agent of the node, such as a CSI driver, takes off when it has set up a new node.
_STARTUP_TAINTS: Final = pattern(
    r"(?!node\.kubernetes\.io/|node\.cloudprovider\.kubernetes\.io/)"
    r"((startup|ignore)-taint\.cluster-autoscaler\.kubernetes\.io/.*"
    r"|(.*[/.-])?(not-?ready|unready|startup|un-?initialized|not-initialized))"
)
#: The taint of a cordoned node; the node controller adds it to every node with ``spec.unschedulable``.
UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


def is_startup_taint(taint: Taint) -> bool:
    """Report whether an agent takes a taint off a new node when it has set the node up.

    >>> is_startup_taint(Taint(key="efs.csi.aws.com/agent-not-ready", effect="NoExecute"))
    True
    >>> is_startup_taint(Taint(key="node.kubernetes.io/not-ready", effect="NoExecute"))
    False
    """
    return _STARTUP_TAINTS.fullmatch(taint.key) is not None


#: A word for a broken node in the key or the value of a taint that an agent, such as a health check of GPUs, sets.
_PROBLEM: Final = pattern(r"(.*[/._-])?(unhealthy|not-?healthy|degraded|faulty|broken|defective)([._-].*)?")


def marks_problem(taint: Taint) -> bool:
    """Report whether a taint says by its words that an agent has found its node broken.

    >>> marks_problem(Taint(key="gpu.acme.com/unhealthy", effect="NoSchedule"))
    True
    >>> marks_problem(Taint(key="dedicated", value="gpu", effect="NoSchedule"))
    False
    """
    return any(_PROBLEM.fullmatch(text) is not None for text in (taint.key, taint.value))


def protects_pods(taint: Taint) -> bool:
    """Report whether a taint protects pods from a node that is not healthy, not set up, or of the control plane."""
    if taint.key == OS_TAINT:
        return False
    return taint.key.startswith(UNSAFE_TAINTS) or is_startup_taint(taint) or marks_problem(taint)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Report whether a toleration tolerates a taint. An empty key or effect of the toleration matches any."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case _:
            return False


def toleration_of(taint: Taint) -> Toleration:
    """Return the toleration of a taint, and of no other value of it."""
    operator = "Equal" if taint.value else "Exists"
    return Toleration(key=taint.key, operator=operator, value=taint.value, effect=taint.effect)


def tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Report whether any of the tolerations tolerates a taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


_SECONDS: Final = 300


#: The added tolerations, in the order in which they are appended.
DEFAULT_TOLERATIONS: Final = tuple(
    Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=_SECONDS) for key in _TAINTS
)

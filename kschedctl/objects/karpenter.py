"""Objects of Karpenter (karpenter.sh/v1) that say which nodes it may add, and which it has asked for."""

from typing import Final

from msgspec import field

from kschedctl.objects.core import Condition, ResourceList, Taint
from kschedctl.objects.duration import Duration
from kschedctl.objects.meta import ApiObject, ApiStruct, Int32, ObjectMeta, Time

#: The label of a node that names its NodePool.
NODE_POOL_LABEL: Final = "karpenter.sh/nodepool"
#: The annotation that keeps a pod or a node where it is: "true", or on a pod the time for which it does.
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
#: The annotation with the cost of a pod's eviction.
DISRUPTION_COST: Final = "karpenter.sh/disruption-cost"

#: Prefixes of labels that say what an instance type is, and not what a pool adds to it.
INSTANCE_LABELS: Final = (
    "karpenter.k8s.aws/instance-",
    "karpenter.azure.com/sku-",
    "karpenter.k8s.gcp/instance-",
    "eks.amazonaws.com/instance-",
)


class NodeClassReference(ApiStruct, frozen=True):
    """The object of a cloud provider that says how instances are made."""

    group: str = ""
    kind: str = ""
    name: str = ""


class MinValuesRequirement(ApiStruct, frozen=True):
    """A requirement on labels, with the least number of different values that instance types have to offer."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()
    min_values: Int32 | None = None


class NodeClaimResources(ApiStruct, frozen=True):
    requests: ResourceList = {}


class NodeClaimSpec(ApiStruct, frozen=True):
    """The spec of a NodeClaim, and of the template of a NodePool."""

    requirements: tuple[MinValuesRequirement, ...] = ()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    node_class_ref: NodeClassReference = NodeClassReference()
    resources: NodeClaimResources = NodeClaimResources()
    expire_after: str = ""
    termination_grace_period: str = ""


class NodeClaimTemplate(ApiStruct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeClaimSpec = NodeClaimSpec()


class DisruptionBudget(ApiStruct, frozen=True):
    """The number or share of a pool's nodes that may be disrupted at once, for some reasons and at some times."""

    nodes: str = "10%"
    reasons: tuple[str, ...] = ()
    schedule: str = ""
    duration: str = ""


class NodePoolDisruption(ApiStruct, frozen=True):
    consolidation_policy: str = ""
    consolidate_after: str = ""
    budgets: tuple[DisruptionBudget, ...] = (DisruptionBudget(),)

    @property
    def seconds(self) -> float | None:
        """The time after the last change of its pods at which a node may be consolidated; ``None`` for never.

        A time that cannot be parsed, which an API server refuses, is never.
        """
        try:
            return Duration.parse(self.consolidate_after or "0s").nanoseconds / 1e9
        except ValueError:
            return None


class NodePoolSpec(ApiStruct, frozen=True):
    template: NodeClaimTemplate = NodeClaimTemplate()
    disruption: NodePoolDisruption = NodePoolDisruption()
    limits: ResourceList = {}
    weight: Int32 | None = None
    #: Set for a static pool, which Karpenter keeps at this size, whatever is pending.
    replicas: Int32 | None = None


class NodePoolStatus(ApiStruct, frozen=True):
    resources: ResourceList = {}
    conditions: tuple[Condition, ...] = ()


class NodePool(ApiObject, frozen=True, kw_only=True):
    spec: NodePoolSpec = NodePoolSpec()
    status: NodePoolStatus = NodePoolStatus()


class NodeClaimStatus(ApiStruct, frozen=True):
    node_name: str = ""
    provider_id: str = field(default="", name="providerID")
    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    #: The last time at which a pod was bound to the node, or left it.
    last_pod_event_time: Time | None = None


class NodeClaim(ApiObject, frozen=True, kw_only=True):
    """An instance that Karpenter has asked a cloud for."""

    spec: NodeClaimSpec = NodeClaimSpec()
    status: NodeClaimStatus = NodeClaimStatus()


def condition(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    """Return the condition of a type, or ``None``."""
    return next((each for each in conditions if each.type == type_), None)


def holds(conditions: tuple[Condition, ...], type_: str) -> bool:
    """Report whether a condition is True."""
    found = condition(conditions, type_)
    return found is not None and found.status == "True"

"""Groups of pods (scheduling.k8s.io): PodGroup, Workload and CompositePodGroup, as far as scheduling reads them.

The versions v1alpha2 (Kubernetes 1.36), v1alpha3 and v1beta1 (since 1.37) differ in a few fields. The types have the
fields of all versions; properties hide the differences.
"""

from kschedctl.objects.core import Condition
from kschedctl.objects.meta import ApiObject, ApiStruct, Int32


class Chosen(ApiStruct, frozen=True):
    """A choice without fields of its own, such as the policy ``basic``: only its presence matters."""


class GangSchedulingPolicy(ApiStruct, frozen=True):
    min_count: Int32 = 0


class PodGroupSchedulingPolicy(ApiStruct, frozen=True):
    """The policy of a group: ``gang``, all or nothing from ``minCount`` pods on, or ``basic``, pod by pod."""

    basic: Chosen | None = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(ApiStruct, frozen=True):
    key: str = ""


class PodGroupSchedulingConstraints(ApiStruct, frozen=True):
    """The constraints of a PodGroup or a CompositePodGroup."""

    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionMode(ApiStruct, frozen=True):
    """The disruption mode of v1beta1 and v1alpha3; exactly one field is set."""

    single: Chosen | None = None
    all: Chosen | None = None


class PodGroupResourceClaim(ApiStruct, frozen=True):
    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class WorkloadReference(ApiStruct, frozen=True):
    """The template of a Workload that a group was made from (v1beta1 and v1alpha3)."""

    workload_name: str = ""
    template_name: str = ""


class WorkloadPodGroupTemplateReference(ApiStruct, frozen=True):
    workload_name: str = ""
    pod_group_template_name: str = ""


class PodGroupTemplateReference(ApiStruct, frozen=True):
    """The template of a Workload that a group was made from (v1alpha2)."""

    workload: WorkloadPodGroupTemplateReference | None = None


class GroupTemplateSpec(ApiStruct, frozen=True):
    """The fields that PodGroups, CompositePodGroups and the templates of a Workload share.

    ``disruptionMode`` is a string in v1alpha2 (``Pod`` or ``PodGroup``) and an object in later versions.
    """

    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    disruption_mode: str | DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str = ""

    @property
    def topology_keys(self) -> tuple[str, ...]:
        """The label keys of the topology constraints; kube-scheduler reads the first."""
        constraints = self.scheduling_constraints
        return tuple(each.key for each in constraints.topology) if constraints is not None else ()

    @property
    def disrupts_all(self) -> bool:
        """True if evicting one member evicts all (mode ``PodGroup`` of v1alpha2, ``all`` of later versions)."""
        mode = self.disruption_mode
        return mode.all is not None if isinstance(mode, DisruptionMode) else mode == "PodGroup"


class PodGroupTemplateSpec(GroupTemplateSpec, frozen=True):
    """The fields that a PodGroup and a template of a Workload share."""

    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()

    @property
    def min_count(self) -> int | None:
        """``minCount`` of the gang; ``None`` for the basic policy."""
        gang = self.scheduling_policy.gang
        return gang.min_count if gang is not None else None

    @property
    def least(self) -> int:
        """The number of pods that the group needs: ``minCount``, or 1 with the basic policy."""
        return 1 if self.min_count is None else self.min_count


class PodGroupSpec(PodGroupTemplateSpec, frozen=True):
    parent_composite_pod_group_name: str = ""
    workload_ref: WorkloadReference | None = None
    pod_group_template_ref: PodGroupTemplateReference | None = None

    @property
    def workload_name(self) -> str:
        """The Workload that the group was made from; empty if none."""
        if self.workload_ref is not None:
            return self.workload_ref.workload_name
        ref = self.pod_group_template_ref
        return ref.workload.workload_name if ref is not None and ref.workload is not None else ""


class PodGroupStatus(ApiStruct, frozen=True):
    conditions: tuple[Condition, ...] = ()


class PodGroup(ApiObject, frozen=True, kw_only=True):
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def key(self) -> str:
        """The group's ``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class PodGroupTemplate(PodGroupTemplateSpec, frozen=True):
    name: str = ""


class TypedLocalObjectReference(ApiStruct, frozen=True):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class WorkloadSpec(ApiStruct, frozen=True):
    controller_ref: TypedLocalObjectReference | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()


class Workload(ApiObject, frozen=True, kw_only=True):
    """Templates of groups, by whose names controllers make PodGroups; it does not affect scheduling itself."""

    spec: WorkloadSpec = WorkloadSpec()


class CompositeGangSchedulingPolicy(ApiStruct, frozen=True):
    min_group_count: Int32 = 0


class CompositePodGroupSchedulingPolicy(ApiStruct, frozen=True):
    """The policy of a group of groups: ``gang``, all or nothing from ``minGroupCount`` groups on, or ``basic``."""

    basic: Chosen | None = None
    gang: CompositeGangSchedulingPolicy | None = None


class CompositePodGroupSpec(GroupTemplateSpec, frozen=True):
    parent_composite_pod_group_name: str = ""
    workload_ref: WorkloadReference | None = None
    scheduling_policy: CompositePodGroupSchedulingPolicy = CompositePodGroupSchedulingPolicy()

    @property
    def min_group_count(self) -> int | None:
        """``minGroupCount`` of the gang; ``None`` for the basic policy."""
        gang = self.scheduling_policy.gang
        return gang.min_group_count if gang is not None else None

    @property
    def least(self) -> int:
        """The number of groups right below that it needs: ``minGroupCount``, or 1 with the basic policy."""
        return 1 if self.min_group_count is None else self.min_group_count

    @property
    def workload_name(self) -> str:
        """The Workload that the group was made from; empty if none."""
        return self.workload_ref.workload_name if self.workload_ref is not None else ""


class CompositePodGroup(ApiObject, frozen=True, kw_only=True):
    """A group whose members are PodGroups and CompositePodGroups, which name it as their parent.

    In v1alpha3 since 1.37, in v1beta1 since 1.38.
    """

    spec: CompositePodGroupSpec = CompositePodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def key(self) -> str:
        """The group's ``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

"""The differences between releases in the API servers' validation of objects, as data, except for feature gates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kschedctl.objects.releases.pod_group_rules import POD_GROUPS_1_36, POD_GROUPS_1_37


@dataclass(frozen=True, slots=True)
class ValidationRules:
    """The validation rules of a release that differ between releases.

    Attributes
    ----------
    tolerations_compare : bool
        True if the operators Lt and Gt of tolerations are known, possibly behind a gate; else they are invalid
        operators.
    restart_rules_need_policy : bool
        True if an init container with restart rules requires a restart policy.
    restart_rules_are_counted : bool
        True if too many restart rules are reported as a number of items; else as a length.
    resize_restarts_only_sidecars : bool
        True if the resize policy RestartContainer is forbidden for init containers that are not sidecars.
    resize_message_names_pod : bool
        True if the message about resize policies says that the restart policy is the pod's.
    driver_name_checked_when_empty : bool
        True if an empty CSI driver name is reported as malformed too, in addition to missing.
    templates_need_image_reference : bool
        True if the image of an image volume is required in templates too.
    grace_period_not_negative : bool
        True if a Pod's termination grace period must not be negative.
    restart_actions_listed : bool
        True if the message about an invalid action of a restart rule lists all actions that the gates allow; else only
        Restart.
    autoscaler_bounds_are_last : bool
        True if the lower limits of the replicas of a HorizontalPodAutoscaler are checked after its other fields.
    host_namespaces_are_of_spec : bool
        True if messages about ``shareProcessNamespace`` name it as a field of the pod's spec, and Windows pods are
        refused for it and for ``hostPID``, ``hostIPC`` and ``hostUsers`` after the security context; else as a part of
        the security context.
    pod_group_versions : frozenset of str
        The versions of scheduling.k8s.io that have PodGroups and Workloads.
    pod_group_priority_gate : str
        The feature gate with which PodGroups get the priority of their PriorityClass; empty without PodGroups.
    pod_group_needs_workload : bool
        True if the Workload and the template that a new PodGroup names must exist.
    """

    tolerations_compare: bool
    restart_rules_need_policy: bool
    restart_rules_are_counted: bool
    resize_restarts_only_sidecars: bool
    resize_message_names_pod: bool
    driver_name_checked_when_empty: bool
    templates_need_image_reference: bool
    grace_period_not_negative: bool
    restart_actions_listed: bool
    autoscaler_bounds_are_last: bool
    host_namespaces_are_of_spec: bool
    pod_group_versions: frozenset[str]
    pod_group_priority_gate: str
    pod_group_needs_workload: bool


VALIDATION_1_34: Final = ValidationRules(
    tolerations_compare=False,
    restart_rules_need_policy=False,
    restart_rules_are_counted=False,
    resize_restarts_only_sidecars=False,
    resize_message_names_pod=False,
    driver_name_checked_when_empty=True,
    templates_need_image_reference=False,
    grace_period_not_negative=False,
    restart_actions_listed=False,
    autoscaler_bounds_are_last=False,
    host_namespaces_are_of_spec=False,
    pod_group_versions=frozenset(),
    pod_group_priority_gate="",
    pod_group_needs_workload=False,
)
VALIDATION_1_35: Final = replace(
    VALIDATION_1_34,
    tolerations_compare=True,
    restart_rules_need_policy=True,
    driver_name_checked_when_empty=False,
)
VALIDATION_1_36: Final = replace(
    VALIDATION_1_35,
    restart_rules_are_counted=True,
    resize_restarts_only_sidecars=True,
    resize_message_names_pod=True,
    restart_actions_listed=True,
    pod_group_versions=frozenset({"v1alpha2"}),
    pod_group_priority_gate=POD_GROUPS_1_36.preemption_gate,
    pod_group_needs_workload=True,
)
VALIDATION_1_37: Final = replace(
    VALIDATION_1_36,
    templates_need_image_reference=True,
    grace_period_not_negative=True,
    autoscaler_bounds_are_last=True,
    host_namespaces_are_of_spec=True,
    pod_group_versions=frozenset({"v1alpha3", "v1beta1"}),
    pod_group_priority_gate=POD_GROUPS_1_37.preemption_gate,
    pod_group_needs_workload=False,
)

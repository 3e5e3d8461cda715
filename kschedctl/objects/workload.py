"""The kinds that create pods (apps/v1, batch/v1, core/v1) and disruption budgets, as far as scheduling reads them."""

import re
from collections.abc import Mapping
from typing import Any, Final

from kschedctl.common.text.patterns import pattern
from kschedctl.objects.core import Condition
from kschedctl.objects.meta import ApiObject, ApiStruct, Int32, Int64, Labels, LabelSelector, ObjectMeta, Time
from kschedctl.objects.pod import PodSpec
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.objects.well_known import POD_TEMPLATE_HASH

#: An absolute number, or a percentage of the replicas such as ``25%``.
IntOrPercent = Int32 | str
#: The name of a CronJob's Job: the name of the CronJob and the minutes since 1970.
_OF_CRON_JOB: Final = pattern(r"(.+)-[0-9]{8,}", re.ASCII)


def deployment_of(replica_set: str, pod_labels: Mapping[str, Any], hash_label: str = POD_TEMPLATE_HASH) -> str:
    """Return the name of the Deployment of a ReplicaSet, from the names of both and the labels of a pod; empty if none.

    >>> deployment_of("web-5d8f", {"pod-template-hash": "5d8f"}), deployment_of("web", {})
    ('web', '')
    """
    suffix = f"-{pod_labels.get(hash_label)}"
    return replica_set.removesuffix(suffix) if pod_labels.get(hash_label) and replica_set.endswith(suffix) else ""


def cron_job_of(job: str) -> str:
    """Return the name of the CronJob of a Job, from the name of the Job; empty if none.

    >>> cron_job_of("backup-29384760"), cron_job_of("backup")
    ('backup', '')
    """
    match = _OF_CRON_JOB.fullmatch(job)
    return match[1] if match else ""


class PodTemplateSpec(ApiStruct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class PodTemplate(ApiObject, frozen=True, kw_only=True):
    template: PodTemplateSpec | None = None


class ReplicationControllerSpec(ApiStruct, frozen=True):
    """The spec of a ReplicationController; its selector is a plain map of labels."""

    selector: Labels = {}
    replicas: Int32 | None = None
    template: PodTemplateSpec | None = None


class ReplicasStatus(ApiStruct, frozen=True):
    """The status of a kind with replicas; ``replicas`` is ``None`` if no controller has reported it."""

    replicas: Int32 | None = None
    conditions: tuple[Condition, ...] = ()


class ReplicationController(ApiObject, frozen=True, kw_only=True):
    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicasStatus = ReplicasStatus()


class SelectorSpec(ApiStruct, frozen=True):
    """The base of specs with a LabelSelector."""

    selector: LabelSelector | None = None


class ReplicasSpec(SelectorSpec, frozen=True):
    """The base of specs with a number of replicas; ``None`` means 1."""

    replicas: Int32 | None = None
    template: PodTemplateSpec | None = None


class ReplicaSet(ApiObject, frozen=True, kw_only=True):
    spec: ReplicasSpec = ReplicasSpec()
    status: ReplicasStatus = ReplicasStatus()


class RollingUpdateDeployment(ApiStruct, frozen=True):
    max_surge: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None


class DeploymentStrategy(ApiStruct, frozen=True):
    type: str = ""
    rolling_update: RollingUpdateDeployment | None = None


class DeploymentSpec(ReplicasSpec, frozen=True):
    strategy: DeploymentStrategy = DeploymentStrategy()
    min_ready_seconds: Int32 = 0
    progress_deadline_seconds: Int32 | None = None
    paused: bool = False


class Deployment(ApiObject, frozen=True, kw_only=True):
    spec: DeploymentSpec = DeploymentSpec()
    status: ReplicasStatus = ReplicasStatus()


class StatefulSetOrdinals(ApiStruct, frozen=True):
    start: Int32 = 0


class RollingUpdateStatefulSetStrategy(ApiStruct, frozen=True):
    partition: Int32 = 0
    max_unavailable: IntOrPercent | None = None


class StatefulSetUpdateStrategy(ApiStruct, frozen=True):
    type: str = ""
    rolling_update: RollingUpdateStatefulSetStrategy | None = None


class StatefulSetSpec(ReplicasSpec, frozen=True):
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    ordinals: StatefulSetOrdinals = StatefulSetOrdinals()
    pod_management_policy: str = ""
    update_strategy: StatefulSetUpdateStrategy = StatefulSetUpdateStrategy()
    min_ready_seconds: Int32 = 0


class StatefulSetStatus(ApiStruct, frozen=True):
    replicas: Int32 | None = None
    update_revision: str = ""


class StatefulSet(ApiObject, frozen=True, kw_only=True):
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class DaemonSetSpec(SelectorSpec, frozen=True):
    template: PodTemplateSpec | None = None


class DaemonSetStatus(ApiStruct, frozen=True):
    current_number_scheduled: Int32 = 0
    desired_number_scheduled: Int32 = 0


class DaemonSet(ApiObject, frozen=True, kw_only=True):
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class JobSpec(SelectorSpec, frozen=True):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str = ""
    manual_selector: bool = False
    suspend: bool = False
    template: PodTemplateSpec | None = None


class JobStatus(ApiStruct, frozen=True):
    active: Int32 = 0
    succeeded: Int32 = 0
    start_time: Time | None = None
    conditions: tuple[Condition, ...] = ()


class Job(ApiObject, frozen=True, kw_only=True):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateSpec(ApiStruct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(ApiStruct, frozen=True):
    suspend: bool = False
    job_template: JobTemplateSpec = JobTemplateSpec()


class CronJob(ApiObject, frozen=True, kw_only=True):
    spec: CronJobSpec = CronJobSpec()


class PodDisruptionBudgetSpec(SelectorSpec, frozen=True):
    min_available: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None
    unhealthy_pod_eviction_policy: str = "IfHealthyBudget"


class PodDisruptionBudgetMeta(ObjectMeta, frozen=True):
    generation: Int64 = 0


class PodDisruptionBudgetStatus(ApiStruct, frozen=True):
    """The status of a budget; ``disruptions_allowed`` is ``None`` if no controller has written it."""

    disruptions_allowed: Int32 | None = None
    disrupted_pods: dict[str, Time] = {}
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    observed_generation: Int64 = 0


class PodDisruptionBudget(ApiObject, frozen=True, kw_only=True):
    metadata: PodDisruptionBudgetMeta = PodDisruptionBudgetMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


def share(value: Any, of: int, *, up: bool) -> int | None:
    """Return a number, or a percentage of `of` rounded up or down; ``None`` if `value` is neither.

    >>> share("25%", 3, up=True), share("25%", 3, up=False), share(2, 3, up=True), share("2", 3, up=True)
    (1, 0, 2, None)
    """
    if isinstance(value, str):
        number = value.removesuffix("%")
        if number == value or not (number.isascii() and number.isdigit()):
            return None
        percent = int(number)
        return -(-percent * of // 100) if up else percent * of // 100
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

"""The number of replicas of a workload, lowest and highest, and the surge and unavailability of its rollouts."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kschedctl.controllers.disruption import share
from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.values import Steps, at, is_rendered, mapping, text, whole

HPA: Final = "autoscaling/HorizontalPodAutoscaler"
SCALED_OBJECT: Final = "keda.sh/ScaledObject"
#: The kinds with ``spec.replicas``, which defaults to 1.
SCALED: Final = frozenset(
    ("apps/Deployment", "apps/StatefulSet", "apps/ReplicaSet", "ReplicationController", "argoproj.io/Rollout")
)
_KEDA_MOST: Final = 100
_QUARTER: Final = "25%"


class Replicas(NamedTuple):
    """The number of replicas of a workload."""

    #: The lowest and the highest number.
    low: int
    high: int
    #: The autoscaler that sets the number; ``None`` if there is none.
    scaler: LintObject | None = None

    @property
    def shown(self) -> str:
        """The number as text, with the autoscaler if there is one."""
        if self.scaler is None:
            return str(self.low)
        return f"{self.low} to {self.high} ({self.scaler.kind} {self.scaler.name})"


class ScaleTarget(NamedTuple):
    """The target that an autoscaler names."""

    group: str
    kind: str
    name: str

    @property
    def type(self) -> str:
        """Group and kind, as in ``LintObject.type``."""
        return f"{self.group}/{self.kind}" if self.group else self.kind

    def field(self, name: str) -> Steps:
        """Return the path of a field of the target in the autoscaler."""
        return ("spec", "scaleTargetRef", name)


def scale_target(scaler: LintObject) -> ScaleTarget | None:
    """Return the target of an autoscaler; ``None`` if it is malformed or has placeholders."""
    target = mapping(at(scaler.raw, "spec", "scaleTargetRef"))
    kind = text(target.get("kind")) or ("Deployment" if scaler.type == SCALED_OBJECT else "")
    name = text(target.get("name"))
    if not kind or not name or not is_rendered(dict(target)):
        return None
    return ScaleTarget(text(target.get("apiVersion")).rpartition("/")[0], kind, name)


def autoscaler(pods: WorkloadPods, given: LintManifests) -> LintObject | None:
    """Return the autoscaler of the manifest set that targets a workload; ``None`` if there is none."""
    for type_ in (HPA, SCALED_OBJECT):
        for scaler in given.beside(pods.obj, type_):
            target = scale_target(scaler)
            if target is None or (target.kind, target.name) != (pods.obj.kind, pods.obj.name):
                continue
            # A former API group, or none, means the same workload. A lookup from the autoscaler decides about variants.
            seen = given.named(scaler, pods.type, pods.obj.name)
            if target.group in ("", "extensions", pods.obj.group) and seen is pods.obj:
                return scaler
    return None


def replicas_steps(pods: WorkloadPods) -> Steps:
    """Return the path of the field with the number of replicas of a workload; the path of its spec if there is none."""
    for field in ("replicas", "parallelism"):
        if at(pods.obj.raw, "spec", field) is not None:
            return ("spec", field)
    return ("spec",)


def replicas(pods: WorkloadPods, given: LintManifests) -> Replicas | None:
    """Return the number of replicas of a workload; ``None`` if it is not known, or depends on the nodes.

    A Pod counts as 1, a Job as the number of pods that run at a time. With an autoscaler the lowest number is at least
    1, also if it scales to zero; the highest defaults to 100 for a ScaledObject of KEDA.
    """
    spec = mapping(pods.obj.raw.get("spec"))
    if pods.type == "Pod":
        return Replicas(1, 1)
    if pods.type in ("batch/Job", "batch/CronJob"):
        job = mapping(at(spec, "jobTemplate", "spec")) if pods.type == "batch/CronJob" else spec
        at_a_time, in_all = _count(job, "parallelism", 1), _count(job, "completions", 1)
        if at_a_time is None or in_all is None:
            return None
        n = min(at_a_time, in_all) if job.get("completions") is not None else at_a_time
        return Replicas(n, n)
    if pods.type not in SCALED and not pods.custom:
        return None
    own = _count(spec, "replicas", 1)
    scaler = autoscaler(pods, given)
    if scaler is None or own == 0:
        return None if own is None else Replicas(own, own)
    keda = scaler.type == SCALED_OBJECT
    scaling = mapping(scaler.raw.get("spec"))
    low = _count(scaling, "minReplicaCount" if keda else "minReplicas", 0 if keda else 1)
    high = _count(scaling, "maxReplicaCount" if keda else "maxReplicas", _KEDA_MOST if keda else None)
    if low is None or high is None:
        return None
    low = max(low, 1)
    return Replicas(low, max(low, high), scaler)


def _count(spec: Any, field: str, default: int | None) -> int | None:
    value = spec.get(field)
    if value is None:
        return default
    number = whole(value)
    return number if number is not None and number >= 0 else None


class RolloutStrategy(NamedTuple):
    """The limits of a rolling update."""

    #: The numbers of additional pods (maxSurge) and of unavailable pods (maxUnavailable) during a rollout.
    surge: int
    down: int


def rollout(pods: WorkloadPods, n: int) -> RolloutStrategy | None:
    """Return the limits of a rolling update of a Deployment or a Rollout with `n` replicas.

    Return ``None`` for other kinds, for strategy Recreate, and if the limits are not known.
    """
    spec = mapping(pods.obj.raw.get("spec"))
    strategy = mapping(spec.get("strategy"))
    if pods.type == "apps/Deployment":
        if strategy.get("type") not in (None, "", "RollingUpdate"):
            return None
        numbers = strategy.get("rollingUpdate")
    elif pods.type == "argoproj.io/Rollout":
        if isinstance(strategy.get("blueGreen"), dict):
            return RolloutStrategy(n, 0)
        numbers = strategy.get("canary")
    else:
        return None
    surge = share(_given(numbers, "maxSurge"), n, up=True)
    down = share(_given(numbers, "maxUnavailable"), n, up=False)
    if surge is None or down is None:
        return None
    # If both are rounded to 0, one pod may be unavailable (deployment util ResolveFenceposts).
    return RolloutStrategy(surge, down or int(surge == 0))


def _given(numbers: Any, field: str) -> Any:
    value = mapping(numbers).get(field)
    return _QUARTER if value is None else value


def new_pods_first(pods: WorkloadPods, given: LintManifests) -> Replicas | None:
    """Return the replicas of a workload whose rollouts start a new pod before an old one ends, else ``None``.

    That is so if maxUnavailable, computed for the lowest number of replicas, is 0.
    """
    count = replicas(pods, given)
    if count is None or count.low == 0:
        return None
    how = rollout(pods, count.low)
    return count if how is not None and how.down == 0 else None

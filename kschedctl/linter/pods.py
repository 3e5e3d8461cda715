"""Pod templates: the parts that scheduling depends on, each with its path in the object."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from kschedctl.linter.labels import PodLabels, holds
from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.values import (
    CUSTOM_KINDS,
    TEMPLATES,
    Steps,
    at,
    converted,
    is_rendered,
    items,
    mapping,
    numbered,
    text,
    whole,
)
from kschedctl.objects.core import Taint
from kschedctl.objects.meta import ApiStruct
from kschedctl.objects.pod import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PodAffinityTerm,
    Toleration,
    TopologySpreadConstraint,
    tolerates,
)
from kschedctl.objects.workload import share

T = TypeVar("T", bound=ApiStruct)

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"


@dataclass(frozen=True, slots=True)
class TemplatePart(Generic[T]):
    """A part of a pod template, with its path."""

    #: The path from the root of the object.
    steps: Steps
    #: The value as written.
    raw: Any
    #: The value as an API type; ``None`` if it is not of that type or has placeholders.
    value: T | None


#: A part of any type.
AnyPart: TypeAlias = TemplatePart[Any]


@dataclass(frozen=True, slots=True)
class TemplateContainer:
    """A container of a pod template."""

    steps: Steps
    raw: Mapping[str, Any]
    #: True for an init container that ends before the containers start: its restartPolicy is not Always.
    init: bool

    @property
    def name(self) -> str:
        return text(self.raw.get("name"))

    def amount(self, resource: str) -> Any:
        """Return the request of a resource as written, else the limit; ``None`` if neither is set."""
        resources = mapping(self.raw.get("resources"))
        for field in ("requests", "limits"):
            found = mapping(resources.get(field)).get(resource)
            if found is not None:
                return found
        return None


@dataclass(eq=False)
class WorkloadPods:
    """The pods that an object creates: a workload with a pod template, or a Pod itself."""

    #: The object.
    obj: LintObject
    #: The path of the pod template; empty for a Pod.
    template: Steps
    #: True if the kind is a custom kind of the settings.
    custom: bool = False

    @property
    def type(self) -> str:
        """Group and kind of the object."""
        return self.obj.type

    @property
    def kind(self) -> str:
        """The kind of the object if it is built into Kubernetes, else empty."""
        return self.obj.kind if self.type in TEMPLATES and self.type not in CUSTOM_KINDS else ""

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty if there is none."""
        return self.obj.namespace

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        return mapping(at(self.obj.raw, *self.template, "metadata"))

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        return mapping(at(self.obj.raw, *self.template, "spec"))

    def of_spec(self, *steps: str | int) -> Steps:
        """Return the path of a field of the pod spec."""
        return (*self.template, "spec", *steps)

    @cached_property
    def labels(self) -> PodLabels:
        # The controller of a custom kind may add labels to the pods.
        return PodLabels.of(mapping(self.metadata.get("labels")), self.type, open=self.custom)

    @cached_property
    def node_selector(self) -> Mapping[str, Any]:
        """The node selector, as written."""
        return mapping(self.spec.get("nodeSelector"))

    @cached_property
    def node_terms(self) -> list[tuple[Steps, Any]] | None:
        """The ORed terms of the required node affinity, each with its path; ``None`` if there are none."""
        steps = ("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
        terms = at(self.spec, *steps)
        return list(numbered(terms, self.of_spec(*steps))) if isinstance(terms, list) and terms else None

    @cached_property
    def tolerations(self) -> list[TemplatePart[Toleration]]:
        found = numbered(self.spec.get("tolerations"), self.of_spec("tolerations"))
        return [TemplatePart(steps, raw, converted(raw, Toleration)) for steps, raw in found]

    def is_repelled_by(self, taint: Taint) -> bool:
        """Report whether a taint keeps the pods off its node; a toleration with a placeholder tolerates all."""
        if self.spec.get("tolerations") and not items(self.spec.get("tolerations")):
            return False
        tolerating = (part.value is None or tolerates(part.value, taint) for part in self.tolerations)
        return taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not any(tolerating)

    def terms(self, affinity: str, *, required: bool) -> list[TemplatePart[PodAffinityTerm]]:
        """Return the required or the preferred terms of ``podAffinity`` or ``podAntiAffinity``."""
        field = REQUIRED if required else PREFERRED
        found = numbered(at(self.spec, "affinity", affinity, field), self.of_spec("affinity", affinity, field))
        inner: Steps = () if required else ("podAffinityTerm",)
        terms = ((*steps, *inner) for steps, _ in found)
        return [
            TemplatePart(steps, raw, converted(raw, PodAffinityTerm))
            for steps in terms
            if isinstance(raw := at(self.obj.raw, *steps), dict)
        ]

    @cached_property
    def spread(self) -> list[TemplatePart[TopologySpreadConstraint]]:
        found = numbered(self.spec.get("topologySpreadConstraints"), self.of_spec("topologySpreadConstraints"))
        return [
            TemplatePart(steps, raw, converted(raw, TopologySpreadConstraint))
            for steps, raw in found
            if isinstance(raw, dict)
        ]

    @property
    def hard_spread(self) -> list[tuple[TemplatePart[TopologySpreadConstraint], TopologySpreadConstraint]]:
        """The topology spread constraints with ``DoNotSchedule``, each with its value; placeholders are left out."""
        values = ((part, part.value) for part in self.spread)
        return [(part, one) for part, one in values if one is not None and one.when_unsatisfiable == DO_NOT_SCHEDULE]

    @cached_property
    def containers(self) -> list[TemplateContainer]:
        """All containers that have any field, init containers first."""
        found = []
        for field in ("initContainers", "containers"):
            for steps, raw in numbered(self.spec.get(field), self.of_spec(field)):
                if raw and isinstance(raw, dict):
                    ends = field == "initContainers" and raw.get("restartPolicy") != "Always"
                    found.append(TemplateContainer(steps, raw, ends))
        return found

    def claims(self) -> Iterator[tuple[Steps, str]]:
        """Yield the PersistentVolumeClaims that volumes name, each as the path of the name and the name."""
        for steps, volume in numbered(self.spec.get("volumes"), self.of_spec("volumes")):
            name = text(at(volume, "persistentVolumeClaim", "claimName"))
            if name and is_rendered(name):
                yield (*steps, "persistentVolumeClaim", "claimName"), name


def holds_for(part: TemplatePart[PodAffinityTerm], owner: WorkloadPods, others: WorkloadPods) -> bool | None:
    """Report whether a term of pod affinity or anti-affinity matches pods; ``None`` if that is uncertain.

    Args:
        others: The pods to match, which may be `owner` itself.
    """
    term = part.value
    if term is None:
        return None
    answers = [_in_namespaces(term, owner, others), holds(part.raw.get("labelSelector"), others.labels)]
    for keys, wanted in ((term.match_label_keys, True), (term.mismatch_label_keys, False)):
        for key in keys:
            own, other = owner.labels.known.get(key), others.labels.known.get(key)
            if own is None and not owner.labels.may_have(key):
                # The scheduler ignores a key that the pod does not have.
                continue
            if own is None or (other is None and others.labels.may_have(key)):
                answers.append(None)
            else:
                answers.append((own == other) is wanted)
    if False in answers:
        return False
    return None if None in answers else True


def _in_namespaces(term: PodAffinityTerm, owner: WorkloadPods, others: WorkloadPods) -> bool | None:
    if not term.namespaces and term.namespace_selector is None:
        return owner.namespace == others.namespace
    selector = term.namespace_selector
    if selector is not None and not selector.match_labels and not selector.match_expressions:
        return True
    if others.namespace and others.namespace in term.namespaces:
        return True
    return None if selector is not None or not others.namespace else False


# The number of replicas of a workload, lowest and highest, and the surge and unavailability of its rollouts.

HPA: Final = "autoscaling/HorizontalPodAutoscaler"
SCALED_OBJECT: Final = "keda.sh/ScaledObject"
#: The kinds with ``spec.replicas``, which defaults to 1.
SCALED: Final = frozenset(
    ("apps/Deployment", "apps/StatefulSet", "apps/ReplicaSet", "ReplicationController", *CUSTOM_KINDS)
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
        at_a_time, in_all = _count_of_field(job, "parallelism", 1), _count_of_field(job, "completions", 1)
        if at_a_time is None or in_all is None:
            return None
        n = min(at_a_time, in_all) if job.get("completions") is not None else at_a_time
        return Replicas(n, n)
    if pods.type not in SCALED and not pods.custom:
        return None
    own = _count_of_field(spec, "replicas", 1)
    scaler = autoscaler(pods, given)
    if scaler is None or own == 0:
        return None if own is None else Replicas(own, own)
    keda = scaler.type == SCALED_OBJECT
    scaling = mapping(scaler.raw.get("spec"))
    low = _count_of_field(scaling, "minReplicaCount" if keda else "minReplicas", 0 if keda else 1)
    high = _count_of_field(scaling, "maxReplicaCount" if keda else "maxReplicas", _KEDA_MOST if keda else None)
    if low is None or high is None:
        return None
    low = max(low, 1)
    return Replicas(low, max(low, high), scaler)


def _count_of_field(spec: Any, field: str, default: int | None) -> int | None:
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
    """Return the limits of a rolling update of a Deployment, Rollout or DeploymentConfig with `n` replicas.

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
    elif pods.type == "apps.openshift.io/DeploymentConfig":
        if strategy.get("type") not in (None, "", "Rolling"):
            return None
        numbers = strategy.get("rollingParams")
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

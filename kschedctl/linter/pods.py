"""Pod templates: the parts that scheduling depends on, each with its path in the object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeAlias, TypeVar

from kschedctl.linter.labels import PodLabels, holds
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.partial_objects import TEMPLATES
from kschedctl.linter.values import Steps, at, converted, is_rendered, items, mapping, numbered, text
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
        """The name of the container."""
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
        return self.obj.kind if self.type in TEMPLATES and self.obj.group != "argoproj.io" else ""

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty if there is none."""
        return self.obj.namespace

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """The pods' metadata."""
        return mapping(at(self.obj.raw, *self.template, "metadata"))

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        """The pods' spec."""
        return mapping(at(self.obj.raw, *self.template, "spec"))

    def of_spec(self, *steps: str | int) -> Steps:
        """Return the path of a field of the pod spec."""
        return (*self.template, "spec", *steps)

    @cached_property
    def labels(self) -> PodLabels:
        """The pods' labels."""
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
        """The tolerations."""
        found = numbered(self.spec.get("tolerations"), self.of_spec("tolerations"))
        return [TemplatePart(steps, raw, converted(raw, Toleration)) for steps, raw in found]

    def tolerates(self, key: str, effect: str) -> bool:
        """Report whether a taint of a key and effect is tolerated, for any value; a placeholder tolerates all."""
        if self.spec.get("tolerations") and not items(self.spec.get("tolerations")):
            return True
        for part in self.tolerations:
            one = part.value
            if one is None or tolerates(one, Taint(key=key, value=one.value, effect=effect)):
                return True
        return False

    def is_repelled_by(self, taint: Taint) -> bool:
        """Report whether a taint keeps the pods off its node; a toleration with a placeholder tolerates all."""
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
        """The topology spread constraints."""
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
        """All containers, init containers first."""
        found = []
        for field in ("initContainers", "containers"):
            for steps, raw in numbered(self.spec.get(field), self.of_spec(field)):
                if isinstance(raw, dict):
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

    Parameters
    ----------
    part : TemplatePart of PodAffinityTerm
        The term.
    owner : WorkloadPods
        The pods that have the term.
    others : WorkloadPods
        The pods to match, which may be `owner` itself.
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

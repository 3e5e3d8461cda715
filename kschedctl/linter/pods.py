"""The pods that an object makes, before any is made: the parts of a template that scheduling reads, with their ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeAlias, TypeVar

from kschedctl.api.core import Taint
from kschedctl.api.meta import ApiStruct
from kschedctl.api.pod import PodAffinityTerm, Toleration, TopologySpreadConstraint
from kschedctl.api.tolerations import tolerates
from kschedctl.linter.labels import PodLabels, holds
from kschedctl.linter.manifest_set import ManifestObject
from kschedctl.linter.partial import TEMPLATES
from kschedctl.linter.values import Steps, at, converted, is_rendered, items, mapping, numbered, text

T = TypeVar("T", bound=ApiStruct)

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A part of the template."""

    #: The way to it from the object.
    steps: Steps
    #: As written.
    raw: Any
    #: As the API's type; ``None`` where it is none, or not filled in.
    value: T | None


#: A part of whatever type.
AnyPart: TypeAlias = Part[Any]


@dataclass(frozen=True, slots=True)
class Container:
    """A container of the template."""

    steps: Steps
    raw: Mapping[str, Any]
    #: Whether it ends before the others begin: an init container that is not restarted.
    init: bool

    @property
    def name(self) -> str:
        """Its name."""
        return text(self.raw.get("name"))

    def amount(self, resource: str) -> Any:
        """What it requests of a resource, as written: where it says nothing its limit; ``None`` for neither."""
        resources = mapping(self.raw.get("resources"))
        for field in ("requests", "limits"):
            found = mapping(resources.get(field)).get(resource)
            if found is not None:
                return found
        return None


@dataclass(eq=False)
class Pods:
    """The pods that an object makes."""

    #: The object.
    obj: ManifestObject
    #: The way to the template.
    template: Steps
    #: Whether it is of a kind that the settings name.
    custom: bool = False

    @property
    def type(self) -> str:
        """Group and kind of the object."""
        return self.obj.type

    @property
    def kind(self) -> str:
        """The kind of the object, where it is one of Kubernetes' own; empty else."""
        return self.obj.kind if self.type in TEMPLATES and self.obj.group != "argoproj.io" else ""

    @property
    def namespace(self) -> str:
        """The namespace; empty for none."""
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
        """The way to a field of the spec."""
        return (*self.template, "spec", *steps)

    @cached_property
    def labels(self) -> PodLabels:
        """The pods' labels."""
        # A template of a kind that is not known may get labels from whoever reads it.
        return PodLabels.of(mapping(self.metadata.get("labels")), self.type, open=self.custom)

    @cached_property
    def node_selector(self) -> Mapping[str, Any]:
        """The node selector, as written."""
        return mapping(self.spec.get("nodeSelector"))

    @cached_property
    def node_terms(self) -> list[tuple[Steps, Any]] | None:
        """The ORed terms of the required node affinity; ``None`` where there is none."""
        steps = ("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
        terms = at(self.spec, *steps)
        return list(numbered(terms, self.of_spec(*steps))) if isinstance(terms, list) and terms else None

    @cached_property
    def tolerations(self) -> list[Part[Toleration]]:
        """The tolerations."""
        found = numbered(self.spec.get("tolerations"), self.of_spec("tolerations"))
        return [Part(steps, raw, converted(raw, Toleration)) for steps, raw in found]

    def tolerates(self, key: str, effect: str) -> bool:
        """Whether a taint of a key is tolerated, with whatever value; what is not filled in tolerates all."""
        if self.spec.get("tolerations") and not items(self.spec.get("tolerations")):
            return True
        for part in self.tolerations:
            one = part.value
            if one is None or tolerates(one, Taint(key=key, value=one.value, effect=effect)):
                return True
        return False

    def terms(self, affinity: str, *, required: bool) -> list[Part[PodAffinityTerm]]:
        """The terms of ``podAffinity`` or ``podAntiAffinity``."""
        field = REQUIRED if required else PREFERRED
        found = numbered(at(self.spec, "affinity", affinity, field), self.of_spec("affinity", affinity, field))
        inner: Steps = () if required else ("podAffinityTerm",)
        terms = ((*steps, *inner) for steps, _ in found)
        return [
            Part(steps, raw, converted(raw, PodAffinityTerm))
            for steps in terms
            if isinstance(raw := at(self.obj.raw, *steps), dict)
        ]

    @cached_property
    def spread(self) -> list[Part[TopologySpreadConstraint]]:
        """The topology spread constraints."""
        found = numbered(self.spec.get("topologySpreadConstraints"), self.of_spec("topologySpreadConstraints"))
        return [
            Part(steps, raw, converted(raw, TopologySpreadConstraint)) for steps, raw in found if isinstance(raw, dict)
        ]

    @property
    def hard_spread(self) -> list[tuple[Part[TopologySpreadConstraint], TopologySpreadConstraint]]:
        """The topology spread constraints that keep pods pending, each with its value."""
        values = ((part, part.value) for part in self.spread)
        return [(part, one) for part, one in values if one is not None and one.when_unsatisfiable == DO_NOT_SCHEDULE]

    @cached_property
    def containers(self) -> list[Container]:
        """All containers."""
        found = []
        for field in ("initContainers", "containers"):
            for steps, raw in numbered(self.spec.get(field), self.of_spec(field)):
                if isinstance(raw, dict):
                    ends = field == "initContainers" and raw.get("restartPolicy") != "Always"
                    found.append(Container(steps, raw, ends))
        return found

    def claims(self) -> Iterator[tuple[Steps, str]]:
        """The claims that volumes name, each with the way to its name."""
        for steps, volume in numbered(self.spec.get("volumes"), self.of_spec("volumes")):
            name = text(at(volume, "persistentVolumeClaim", "claimName"))
            if name and is_rendered(name):
                yield (*steps, "persistentVolumeClaim", "claimName"), name


def holds_for(part: Part[PodAffinityTerm], owner: Pods, others: Pods) -> bool | None:
    """Whether a term of pod affinity or anti-affinity holds for pods, its own among them.

    ``owner``: whose term it is.
    ``None`` where it cannot be told.
    """
    term = part.value
    if term is None:
        return None
    answers = [_in_namespaces(term, owner, others), holds(part.raw.get("labelSelector"), others.labels)]
    for keys, wanted in ((term.match_label_keys, True), (term.mismatch_label_keys, False)):
        for key in keys:
            own, other = owner.labels.known.get(key), others.labels.known.get(key)
            if own is None and not owner.labels.may_have(key):
                # A key that the pod does not have is passed over.
                continue
            if own is None or (other is None and others.labels.may_have(key)):
                answers.append(None)
            else:
                answers.append((own == other) is wanted)
    if False in answers:
        return False
    return None if None in answers else True


def _in_namespaces(term: PodAffinityTerm, owner: Pods, others: Pods) -> bool | None:
    if not term.namespaces and term.namespace_selector is None:
        return owner.namespace == others.namespace
    selector = term.namespace_selector
    if selector is not None and not selector.match_labels and not selector.match_expressions:
        return True
    if others.namespace and others.namespace in term.namespaces:
        return True
    return None if selector is not None or not others.namespace else False

"""The objects that pods name, whether they exist or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.values import Steps, at, numbered, text
from kschedctl.objects.device import ResourceClaim, ResourceClaimTemplate
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.policies import SYSTEM_CLASSES, PriorityClass, RuntimeClass
from kschedctl.objects.volume import PersistentVolumeClaim, StorageClass


class Reference(NamedTuple):
    """The name of another object in pods."""

    kind: type[ApiObject]
    name: str
    #: The path of the name in the object of the pods.
    steps: Steps


def references(pods: WorkloadPods) -> Iterator[Reference]:
    """Yield the objects that pods name; built-in priority classes are left out."""
    spec = pods.spec
    name = text(spec.get("priorityClassName"))
    if name not in {each.name for each in SYSTEM_CLASSES}:
        yield Reference(PriorityClass, name, pods.of_spec("priorityClassName"))
    yield Reference(RuntimeClass, text(spec.get("runtimeClassName")), pods.of_spec("runtimeClassName"))
    for steps, claim in pods.claims():
        yield Reference(PersistentVolumeClaim, claim, steps)
    for steps, raw in numbered(spec.get("resourceClaims"), pods.of_spec("resourceClaims")):
        for field, kind in (
            ("resourceClaimName", ResourceClaim),
            ("resourceClaimTemplateName", ResourceClaimTemplate),
        ):
            yield Reference(kind, text(at(raw, field)), (*steps, field))
    templates = at(pods.obj.raw, "spec", "volumeClaimTemplates")
    for steps, raw in numbered(templates, ("spec", "volumeClaimTemplates")):
        name = text(at(raw, "spec", "storageClassName"))
        yield Reference(StorageClass, name, (*steps, "spec", "storageClassName"))

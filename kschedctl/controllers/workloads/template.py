"""The pod created from a pod template (pkg/controller ``GetPodFromTemplate``), with stand-ins for unknown values.

Random name suffixes, uids of new objects and template hashes are known only after the cluster has created the objects.
The stand-ins have the same format and are deterministic.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import is_
from typing import Final
from uuid import NAMESPACE_URL, uuid5
from zlib import crc32

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError, SnapshotError
from kschedctl.common.findings import Where
from kschedctl.objects.core import ResourceList
from kschedctl.objects.defaults import default_pod_spec
from kschedctl.objects.meta import ApiObject, ObjectMeta, OwnerReference
from kschedctl.objects.pod import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from kschedctl.objects.quantity import QUANTITY_HINT, QuantityError, parse_amounts, parse_quantity
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.objects.well_known import POD_TEMPLATE_HASH
from kschedctl.objects.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplateSpec,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

#: The characters of generated name suffixes; ``x`` is digit 0.
_LETTERS: Final = "xzbcdfghjklmnpqrstvw2456789"
_HASH_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_MAX_PREFIX_LENGTH: Final = 63 - _SUFFIX_LENGTH
#: The annotations of a VerticalPodAutoscaler on a pod whose amounts it has set; it sets those of the next pod as well.
_AUTOSCALED: Final = frozenset({"vpaUpdates", "vpaInPlaceUpdated"})
_API_VERSIONS: Final[Mapping[type[ApiObject], str]] = {
    ReplicationController: "v1",
    Deployment: "apps/v1",
    ReplicaSet: "apps/v1",
    StatefulSet: "apps/v1",
    DaemonSet: "apps/v1",
    Job: "batch/v1",
    CronJob: "batch/v1",
}


def pod_from_template(
    template: PodTemplateSpec,
    owner: ApiObject,
    *,
    name: str = "",
    prefix: str = "",
    number: int = 0,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Pod:
    """Return the pod that a controller creates from its template.

    Args:
        template: The template. Its own name and namespace are ignored.
        owner: The controller of the pod, or the PodTemplate it is created from.
        name: The pod's name; by default it is generated.
        prefix: The prefix of a generated name; by default the owner's name and a dash.
        number: The number of the generated name; different numbers give different names.
    """
    prefix = prefix or f"{owner.name}-"
    own = template.metadata
    metadata = ObjectMeta(
        name=name or generated_name(prefix, number),
        namespace=owner.namespace,
        generate_name=prefix,
        labels={**own.labels, **(labels or {})},
        annotations={**own.annotations, **(annotations or {})},
        owner_references=(controller_reference(owner),) if type(owner) in _API_VERSIONS else (),
    )
    return Pod(metadata=metadata, spec=template.spec)


def controller_reference(owner: ApiObject) -> OwnerReference:
    """Return the owner reference with which an object names its controller."""
    kind = type(owner)
    return OwnerReference(
        api_version=_API_VERSIONS[kind], kind=kind.__name__, name=owner.name, uid=uid_of(owner), controller=True
    )


def uid_of(obj: ApiObject) -> str:
    """Return an object's uid, or a stand-in if it has none."""
    return obj.metadata.uid or str(uuid5(NAMESPACE_URL, f"{type(obj).__name__}/{obj.namespace}/{obj.name}"))


def generated_name(prefix: str, number: int = 0) -> str:
    """Return a generated name with a stand-in for its random suffix.

    Args:
        prefix: The value of ``metadata.generateName``; it is truncated to 58 characters.

    >>> generated_name("web-"), generated_name("web-", 1)
    ('web-xxxxx', 'web-xxxxz')
    """
    digits = []
    for _ in range(_SUFFIX_LENGTH):
        number, digit = divmod(number, len(_LETTERS))
        digits.append(_LETTERS[digit])
    return prefix[:_MAX_PREFIX_LENGTH] + "".join(reversed(digits))


def template_hash(template: PodTemplateSpec) -> str:
    """Return a stand-in for the hash of a template (``pod-template-hash``, ``controller-revision-hash``).

    The real hash is FNV-32a over a Go dump of all fields of the template, of which kschedctl parses only some. The
    stand-in is CRC-32 over the parsed fields, written in the alphabet of the real hash. Templates that scheduling can
    distinguish have different hashes, but no stand-in equals the hash that the cluster would compute.
    """
    data = msgspec.json.encode(normalize_template(template), order="deterministic")
    return "".join(_HASH_LETTERS[ord(digit) % len(_HASH_LETTERS)] for digit in str(crc32(data)))


def normalize_template(template: PodTemplateSpec) -> PodTemplateSpec:
    """Return a template as an API server stores it, reduced to the parts that end up in a pod.

    Raises QuantityError if a value is not a quantity.
    """
    own = template.metadata
    # The controller adds the hash label to the template of a ReplicaSet; the Deployment's template has none.
    labels = {key: value for key, value in own.labels.items() if key != POD_TEMPLATE_HASH}
    spec = default_pod_spec(template.spec)
    spec = replace(
        spec,
        containers=_canonical(spec.containers, "spec.containers"),
        init_containers=_canonical(spec.init_containers, "spec.initContainers"),
    )
    return PodTemplateSpec(metadata=ObjectMeta(labels=labels, annotations=own.annotations), spec=spec)


def _canonical(containers: tuple[Container, ...], path: str) -> tuple[Container, ...]:
    """Return containers with their quantities in the API server's canonical form."""

    def written(resources: ResourceList, path: str) -> ResourceList:
        return {name: str(amount) for name, amount in parse_amounts(resources, path).items()}

    return tuple(
        replace(
            container,
            resources=replace(
                container.resources,
                requests=written(container.resources.requests, f"{path}[{i}].resources.requests"),
                limits=written(container.resources.limits, f"{path}[{i}].resources.limits"),
            ),
        )
        for i, container in enumerate(containers)
    )


def has_template(stored: ReplicaSet | StatefulSet, template: PodTemplateSpec) -> bool:
    """Report whether the stored object has an equal pod template.

    Raises SnapshotError if the stored template has an invalid quantity.
    """
    if stored.spec.template is None:
        return False
    try:
        return normalize_template(stored.spec.template) == normalize_template(template)
    except QuantityError as error:
        raise SnapshotError(
            str(error), where=stored.ref, path=f"spec.template.{error.path}", hint=QUANTITY_HINT
        ) from None


def as_in_template(pod: Pod, template: PodTemplateSpec) -> PodSpec:
    """Return the spec of the next pod after an existing one of the same template.

    Images, amounts and scheduling gates are those of the template: they change in an existing pod, as by a resize.
    Everything else, such as the container of a webhook, was set on admission and will be set again.

    Raises QuantityError if the template has an invalid quantity; the error has the field's path.
    """
    spec, stated, is_autoscaled = pod.spec, template.spec, not _AUTOSCALED.isdisjoint(pod.metadata.annotations)
    try:
        containers = _containers(spec.containers, stated.containers, is_autoscaled=is_autoscaled)
        init_containers = _containers(spec.init_containers, stated.init_containers, is_autoscaled=is_autoscaled)
        resources = spec.resources if is_autoscaled else _with_stated(spec.resources, stated.resources)
    except QuantityError:
        # This raises the error with the path of the field.
        normalize_template(template)
        raise
    gates = stated.scheduling_gates
    same = containers is spec.containers and init_containers is spec.init_containers and resources is spec.resources
    if same and gates == spec.scheduling_gates and not spec.node_name:
        return spec
    return replace(
        spec,
        containers=containers,
        init_containers=init_containers,
        resources=resources,
        scheduling_gates=gates,
        node_name="",
    )


def _containers(
    own: tuple[Container, ...], stated: tuple[Container, ...], *, is_autoscaled: bool
) -> tuple[Container, ...]:
    """Return the containers with the images and amounts of the template; the same tuple if nothing differs."""
    by_name = {container.name: container for container in stated}
    out = []
    for container in own:
        template = by_name.get(container.name)
        if template is not None:
            image = template.image or container.image
            resources = container.resources if is_autoscaled else _with_stated(container.resources, template.resources)
            if resources is not container.resources or image != container.image:
                container = replace(container, image=image, resources=resources)
        out.append(container)
    return own if all(map(is_, out, own)) else tuple(out)


def _with_stated(own: ResourceRequirements, stated: ResourceRequirements) -> ResourceRequirements:
    """Return the amounts that the template states, and the others as they are."""
    # An API server sets requests to the limits where only these are given.
    requests = _merged_amounts(own.requests, {**stated.limits, **stated.requests})
    limits = _merged_amounts(own.limits, stated.limits)
    return own if requests is own.requests and limits is own.limits else replace(own, requests=requests, limits=limits)


def _merged_amounts(own: ResourceList, stated: ResourceList) -> ResourceList:
    changed = {
        name: amount
        for name, amount in stated.items()
        if own.get(name) != amount and (name not in own or parse_quantity(own[name]) != parse_quantity(amount))
    }
    return {**own, **changed} if changed else own


def owner_if_missing(
    cluster: Cluster, owner: ReplicaSet | StatefulSet | ReplicationController
) -> tuple[ApiObject, ...]:
    """Return the owner of a pod, unless the cluster has it with the same selector, which default spreading uses."""
    stored = cluster.get(type(owner), owner.name, owner.namespace)
    return () if stored is not None and stored.spec.selector == owner.spec.selector else (owner,)


# A pod that a controller creates, its number of replicas, and the objects created with it.

#: The maximum number of pods that are created one by one for a question.
MOST_MADE: Final = 10_000


def check_number(number: int, where: Where = "") -> None:
    """Raise ``ManifestError`` if more pods would be created one by one than ``MOST_MADE`` (10,000)."""
    if number > MOST_MADE:
        problem = f"{number:,} pods would be created one by one, and at most {MOST_MADE:,} can be"
        raise ManifestError(problem, where=where, hint="set fewer replicas, and a lower parallelism for a Job")


@dataclass(frozen=True, slots=True)
class MadePod:
    """A pod that a workload's controller creates.

    Attributes
    ----------
    pod : Pod
        The pod as its controller sends it to the API server: without API defaults, not admitted.
    replicas : int
        The number of pods of the workload that are equal to this one except for the name; 0 if the workload is
        scaled to zero or suspended.
    node : str
        The only node the pod can run on, if its controller chose one; else empty.
    objects : tuple of ApiObject
        The objects that the pod refers to and the cluster lacks: its controller, whose selector default topology
        spreading uses, and the claims created for it. They are overlaid on the cluster.
    """

    pod: Pod
    replicas: int = 1
    node: str = ""
    objects: tuple[ApiObject, ...] = ()

    @property
    def claims(self) -> tuple[PersistentVolumeClaim, ...]:
        """The persistent volume claims created for the pod."""
        return tuple(obj for obj in self.objects if isinstance(obj, PersistentVolumeClaim))


# The pod that a controller creates in place of a deleted one, or beside an existing one.

#: The owner kinds whose pods belong to one node: DaemonSet, and Node for the mirror pod of a static pod.
NODE_BOUND: Final = frozenset({"DaemonSet", "Node"})


def fresh_pod(pod: Pod, *, name: str = "") -> Pod:
    """Return a copy of a pod that has just been created.

    Args:
        name: The name of the new pod; by default that of the copied pod, so that users recognize it.
    """
    old = pod.metadata
    metadata = ObjectMeta(
        name=name or old.name, namespace=old.namespace, labels=old.labels, owner_references=old.owner_references
    )
    return Pod(metadata=metadata, spec=pod.spec, status=PodStatus(phase="Pending"))

"""The pod created from a pod template (pkg/controller ``GetPodFromTemplate``), with stand-ins for unknown values.

Random name suffixes, uids of new objects and template hashes are known only after the cluster has created the objects.
The stand-ins have the same format and are deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import NAMESPACE_URL, uuid5
from zlib import crc32

import msgspec
from msgspec.structs import replace

from kschedctl.api.canonical_quantity import parse_amounts
from kschedctl.api.core import ResourceList
from kschedctl.api.defaults import default_pod_spec
from kschedctl.api.meta import ApiObject, ObjectMeta, OwnerReference
from kschedctl.api.pod import Container, Pod
from kschedctl.api.quantity import QUANTITY_HINT, QuantityError
from kschedctl.api.well_known import POD_TEMPLATE_HASH
from kschedctl.api.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplateSpec,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import SnapshotError

#: The characters of generated name suffixes; ``x`` is digit 0.
_LETTERS: Final = "xzbcdfghjklmnpqrstvw2456789"
_HASH_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_MAX_PREFIX_LENGTH: Final = 63 - _SUFFIX_LENGTH
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

    Parameters
    ----------
    template : PodTemplateSpec
        The template. Its own name and namespace are ignored.
    owner : ApiObject
        The controller of the pod, or the PodTemplate it is created from.
    name : str
        The pod's name; by default it is generated.
    prefix : str
        The prefix of a generated name; by default the owner's name and a dash.
    number : int
        The number of the generated name; different numbers give different names.
    labels, annotations : mapping, optional
        Labels and annotations that the controller adds.
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

    Parameters
    ----------
    prefix : str
        The value of ``metadata.generateName``; it is truncated to 58 characters.
    number : int
        Different numbers get different names.

    Examples
    --------
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

    Raises
    ------
    QuantityError
        If a value is not a quantity.
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

    Raises
    ------
    SnapshotError
        If the stored template has an invalid quantity.
    """
    if stored.spec.template is None:
        return False
    try:
        return normalize_template(stored.spec.template) == normalize_template(template)
    except QuantityError as error:
        raise SnapshotError(
            str(error), where=stored.ref, path=f"spec.template.{error.path}", hint=QUANTITY_HINT
        ) from None


def owner_if_missing(
    cluster: Cluster, owner: ReplicaSet | StatefulSet | ReplicationController
) -> tuple[ApiObject, ...]:
    """Return the owner of a pod, unless the cluster has it with the same selector, which default spreading uses."""
    stored = cluster.get(type(owner), owner.name, owner.namespace)
    return () if stored is not None and stored.spec.selector == owner.spec.selector else (owner,)

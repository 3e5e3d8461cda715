"""Anonymisation of a captured snapshot: every name is replaced by a pseudonym.

Every text in an object gets a pseudonym, unless this module lists its field as one with Kubernetes' own words. A field
that is added to the types later is therefore anonymised by default.
"""

import dataclasses
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import compress
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import msgspec
from msgspec.structs import replace

from kschedctl.common.errors import InputError
from kschedctl.objects import (
    cluster_autoscaler,
    coordination,
    core,
    custom_resources,
    event,
    karpenter,
    meta,
    pod,
    pod_group,
    policies,
    volume,
    workload,
)
from kschedctl.objects.cluster_autoscaler import SAFE_TO_EVICT
from kschedctl.objects.coordination import LEADER_ANNOTATION, lock_record
from kschedctl.objects.core import Condition, QuantityText, Taint
from kschedctl.objects.cron import Schedule
from kschedctl.objects.device import ResourceSlice
from kschedctl.objects.duration import Duration
from kschedctl.objects.karpenter import DISRUPTION_COST, DO_NOT_DISRUPT, MinValuesRequirement
from kschedctl.objects.kinds import CAPTURED_KINDS
from kschedctl.objects.meta import ApiObject, Labels, LabelSelectorRequirement, OwnerReference
from kschedctl.objects.pod import DELETION_COST, Pod, Toleration
from kschedctl.objects.pod_group import TypedLocalObjectReference
from kschedctl.objects.quantity import quantity_problem
from kschedctl.objects.selectors import NodeSelectorRequirement, parse_int64
from kschedctl.objects.volume import TopologySelectorLabelRequirement, TypedObjectReference
from kschedctl.objects.workload import IntOrPercent, StatefulSet
from kschedctl.sources.snapshot.anonymize_devices import DEVICE_CHOICES, DeviceRenaming
from kschedctl.sources.snapshot.anonymize_messages import EVENT_REASONS, REPORTERS, anonymous_conditions
from kschedctl.sources.snapshot.capture import Capture
from kschedctl.sources.snapshot.header import ServerVersion
from kschedctl.sources.snapshot.pseudonyms import Pseudonyms
from kschedctl.sources.snapshot.public_names import is_kept_group
from kschedctl.sources.snapshot.rewriting import Replacement, Rewriter, anonymous_amount, structs_in

#: A value of an annotation that switches something off, for a time or for ever.
_SWITCH: Final = re.compile(r"true|false|[0-9hms.]+")
#: Fields with a fixed set of values defined by Kubernetes.
CHOICES: Final = frozenset(
    {
        (core.NodeStatus, "declared_features"),
        (pod.ContainerPort, "protocol"),
        (pod.ContainerRestartRule, "action"),
        (pod.Container, "restart_policy"),
        (pod.ContainerStateWaiting, "reason"),
        (pod.ContainerStateTerminated, "reason"),
        (event.Event, "type"),
        (custom_resources.ContainerResourcePolicy, "mode"),
        (custom_resources.PodUpdatePolicy, "update_mode"),
        (custom_resources.LocalQueueSpec, "stop_policy"),
        (custom_resources.ClusterQueueSpec, "stop_policy"),
        (custom_resources.AdmissionCheckState, "state"),
        (custom_resources.GangStatus, "phase"),
        (custom_resources.VolcanoQueueStatus, "state"),
        (pod.PodSpec, "preemption_policy"),
        (pod.SeccompProfile, "type"),
        (volume.PodCertificateProjection, "key_type"),
        (pod_group.GroupTemplateSpec, "preemption_policy"),
        (pod.PodStatus, "phase"),
        (pod.TopologySpreadConstraint, "when_unsatisfiable"),
        (pod.TopologySpreadConstraint, "node_affinity_policy"),
        (pod.TopologySpreadConstraint, "node_taints_policy"),
        (volume.AzureDisk, "kind"),
        (volume.PersistentVolumeClaimSpec, "access_modes"),
        (volume.PersistentVolumeClaimSpec, "volume_mode"),
        (volume.PersistentVolumeClaimStatus, "phase"),
        (volume.PersistentVolumeSpec, "access_modes"),
        (volume.PersistentVolumeSpec, "volume_mode"),
        (volume.PersistentVolumeStatus, "phase"),
        (volume.StorageClass, "volume_binding_mode"),
        (policies.PriorityClass, "preemption_policy"),
        (policies.LimitRangeItem, "type"),
        (policies.ResourceQuotaSpec, "scopes"),
        (policies.ScopedResourceSelectorRequirement, "scope_name"),
        (policies.ScopedResourceSelectorRequirement, "operator"),
        (workload.DeploymentStrategy, "type"),
        (workload.StatefulSetSpec, "pod_management_policy"),
        (workload.StatefulSetUpdateStrategy, "type"),
        (workload.JobSpec, "completion_mode"),
        (coordination.LeaseSpec, "strategy"),
        (coordination.LeaseCandidateSpec, "strategy"),
        (karpenter.NodePoolDisruption, "consolidation_policy"),
        (karpenter.DisruptionBudget, "reasons"),
        *DEVICE_CHOICES,
    }
)
_COMPARING: Final = ("Gt", "Lt")
_REVISION: Final = "deployment.kubernetes.io/revision"
_MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
_OTHER_GROUP: Final = "example.com"
_VERSIONS: Final = frozenset({"", "v1", "v1beta1", "v1beta2", "v1alpha1", "v1alpha2", "v1alpha3", "v2"})
_PERCENT: Final = re.compile(r"[0-9]{1,9}%", re.ASCII)
_VERSION: Final = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+")
_KIND_NAMES: Final = {type_: kind for (_, kind), type_ in CAPTURED_KINDS.items()}
#: Kinds that are not anonymised in references.
_KINDS: Final = frozenset({"", "VolumeSnapshot", *_KIND_NAMES.values()})


def anonymized(captured: Capture) -> Capture:
    """Return the same cluster with pseudonyms, as ``with_pseudonyms`` does."""
    return with_pseudonyms(captured)[0]


def with_pseudonyms(captured: Capture, names: Pseudonyms | None = None) -> tuple[Capture, dict[str, str]]:
    """Return the same cluster with pseudonyms; every decision is the same up to the renaming.

    Args:
        names: The collection of pseudonyms to use. A caller that passes one can register more text before, and
            replace it afterwards.

    Returns: captured: the cluster with pseudonyms; originals: the original text of each pseudonym

    Numbers, times, the names that every cluster has, and label values that are compared as numbers are kept. The
    pseudonyms depend on nothing but the names in the snapshot.
    """
    names = names if names is not None else Pseudonyms()
    captured = _without_autoscaler_status(captured)
    everything = [obj for objects in captured.objects.values() for obj in objects]
    for obj in everything:
        names.word(obj.name, _KIND_NAMES[type(obj)].lower())
        if isinstance(obj, ResourceSlice):
            # The allocator searches pools in the order of driver and name.
            names.word(obj.spec.driver, "driver")
            names.word(obj.spec.pool.name, "pool")
    rewriter = renaming(names)
    for obj in everything:
        rewriter.rewrite(obj)
    for namespace in captured.header.listed_in.values():
        names.word(namespace, "namespace")
    sets = [obj for obj in everything if isinstance(obj, StatefulSet)]
    templates = (f"{claim.name}\0{obj.name}" for obj in sets for claim in obj.spec.volume_claim_templates)
    pods = (obj for obj in everything if isinstance(obj, Pod))
    claims = ((obj.name, volume.name) for obj in pods for volume in obj.spec.volumes if volume.ephemeral is not None)
    names.settle([*(obj.name for obj in sets), *templates], claims)
    objects = {type_: [rewriter.rewrite(obj) for obj in objects] for type_, objects in captured.objects.items()}
    version = captured.header.server_version.git_version
    header = replace(
        captured.header,
        context="",
        anonymized=True,
        server_version=ServerVersion(git_version=plain_version(version)),
        listed_in={kind: names.word(where, "namespace") for kind, where in captured.header.listed_in.items()},
    )
    return dataclasses.replace(captured, header=header, objects=objects), names.originals()


def _without_autoscaler_status(captured: Capture) -> Capture:
    """Return a capture without the status of Cluster Autoscaler, whose text has names and messages of the cloud."""
    kind = coordination.ConfigMap
    maps = (each for each in captured.objects.get(kind, ()) if isinstance(each, kind))
    if all(left := [not each.is_autoscaler_status for each in maps]):
        return captured
    objects: dict[type[ApiObject], list[ApiObject]] = {
        **captured.objects,
        kind: list(compress(captured.objects[kind], left)),
    }
    header = replace(captured.header, kinds={**captured.header.kinds, kind.__name__: len(objects[kind])})
    return dataclasses.replace(captured, header=header, objects=objects)


def renaming(names: Pseudonyms) -> Rewriter:
    """Return a rewriter that replaces names in API objects, and in parts of them, by pseudonyms."""
    return _Renaming(names).rewriter()


def plain_version(text: str) -> str:
    """Return a version without a vendor's suffix.

    >>> plain_version("v1.35.2-eks-3025e55"), plain_version("")
    ('v1.35.2', '')
    """
    found = _VERSION.match(text)
    return found[0] if found is not None else ""


def _duration_or_never(text: str) -> None:
    if text != "Never":
        Duration.parse(text)


class _Renaming:
    """The replacement rules for fields, by struct type and field name, and for whole structs."""

    def __init__(self, names: Pseudonyms) -> None:
        self._names = names
        self._fields: dict[tuple[type, str], Replacement] = {
            (meta.ObjectMeta, "namespace"): self._category("namespace"),
            (meta.ObjectMeta, "uid"): names.uid,
            (meta.ObjectMeta, "annotations"): self._annotations,
            (core.NodeSystemInfo, "kubelet_version"): plain_version,
            (core.ContainerImage, "names"): self._each(names.image),
            (core.NodeStatus, "conditions"): self._conditions,
            (pod.Container, "image"): names.image,
            (pod.ContainerPort, "host_ip"): names.address,
            (pod.PodAffinityTerm, "topology_key"): names.key,
            (pod.PodAffinityTerm, "match_label_keys"): self._each(names.key),
            (pod.PodAffinityTerm, "mismatch_label_keys"): self._each(names.key),
            (pod.PodAffinityTerm, "namespaces"): self._each(self._category("namespace")),
            (pod.TopologySpreadConstraint, "topology_key"): names.key,
            (pod.TopologySpreadConstraint, "match_label_keys"): self._each(names.key),
            (pod.PodSpec, "node_name"): self._category("node"),
            (pod.PodStatus, "conditions"): self._conditions,
            (pod_group.GroupTemplateSpec, "disruption_mode"): lambda mode: (
                names.choice(mode) if isinstance(mode, str) else mode
            ),
            (pod_group.TopologyConstraint, "key"): names.key,
            (pod_group.PodGroupStatus, "conditions"): self._conditions,
            (volume.ImageVolumeSource, "reference"): names.image,
            (volume.CSINodeDriver, "topology_keys"): self._each(names.key),
            (workload.ReplicasStatus, "conditions"): self._conditions,
            (workload.JobStatus, "conditions"): self._conditions,
            (workload.StatefulSetStatus, "update_revision"): names.word,
            (custom_resources.Conditions, "conditions"): self._conditions,
            (custom_resources.AdmissionCheckState, "message"): lambda _: "",
            (custom_resources.TargetReference, "kind"): self._renamed_kind,
            (event.ObjectReference, "kind"): self._renamed_kind,
            (event.ObjectReference, "namespace"): self._category("namespace"),
            # The words of an Event can hold anything, so that only Kubernetes' own reasons and reporters stay.
            (event.Event, "reason"): lambda reason: reason if reason in EVENT_REASONS else "Other",
            (event.Event, "message"): lambda _: "",
            (pod.ContainerStateWaiting, "message"): lambda _: "",
            (pod.ContainerStateTerminated, "message"): lambda _: "",
            (event.EventSource, "component"): lambda component: component if component in REPORTERS else "other",
            (cluster_autoscaler.MachineReference, "kind"): self._renamed_kind,
            (coordination.LeaseSpec, "holder_identity"): names.holder,
            (coordination.LeaseSpec, "preferred_holder"): names.holder,
            (coordination.LeaseCandidateSpec, "lease_name"): names.word,
            (coordination.LeaseCandidateSpec, "binary_version"): plain_version,
            (coordination.LeaseCandidateSpec, "emulation_version"): plain_version,
            (karpenter.NodePoolStatus, "conditions"): self._conditions,
            (karpenter.NodeClaimStatus, "conditions"): self._conditions,
            (karpenter.NodeClaimSpec, "expire_after"): self._readable(_duration_or_never),
            (karpenter.NodeClaimSpec, "termination_grace_period"): self._readable(Duration.parse),
            (karpenter.NodePoolDisruption, "consolidate_after"): self._readable(_duration_or_never),
            (karpenter.DisruptionBudget, "nodes"): self._readable(lambda text: int(text.removesuffix("%"))),
            (karpenter.DisruptionBudget, "schedule"): self._readable(lambda text: Schedule.parse(text.strip())),
            (karpenter.DisruptionBudget, "duration"): self._readable(Duration.parse),
        }
        devices = DeviceRenaming(names)
        self._fields |= devices.fields
        resource = "extended_resource_name"
        self._fields |= {
            (type_, resource): names.resource for type_ in _captured_structs() if resource in type_.__struct_fields__
        }
        self._structs: dict[type[msgspec.Struct], Replacement] = {
            Taint: self._taint,
            Toleration: self._renamed_toleration,
            LabelSelectorRequirement: self._requirement,
            NodeSelectorRequirement: self._requirement,
            MinValuesRequirement: self._requirement,
            TopologySelectorLabelRequirement: self._topology,
            OwnerReference: self._renamed_owner,
            TypedObjectReference: self._reference,
            TypedLocalObjectReference: self._local_reference,
            **devices.structs,
        }

    def rewriter(self) -> Rewriter:
        """Return a rewriter with these rules."""
        return Rewriter(self._rule, self._structs)

    def _rule(self, type_: type[msgspec.Struct], name: str) -> Replacement | None:
        names = self._names
        for base in type_.__mro__:
            key = (base, name)
            if key in CHOICES:
                return lambda words: names.choice(words) if isinstance(words, str) else tuple(map(names.choice, words))
            if key in self._fields:
                return self._fields[key]
        field = next(field for field in msgspec.structs.fields(type_) if field.name == name)
        if structs_in(field.type):
            return None
        if get_origin(field.type) is dict:
            of = get_args(field.type)[1]
            if of is str:
                return self._labels
            if of == QuantityText:
                return lambda amounts: {
                    names.resource(name): anonymous_amount(amount) for name, amount in amounts.items()
                }
            return lambda values: {names.word(name): value for name, value in values.items()}
        if get_origin(field.type) is tuple:
            return self._each(names.word) if get_args(field.type)[0] is str else None
        if field.type in (QuantityText, QuantityText | None):
            return self._quantity
        if field.type is str or set(get_args(field.type)) == {str, type(None)}:
            return lambda text: None if text is None else names.word(text)
        if field.type == IntOrPercent | None:
            return lambda value: (
                names.word(value) if isinstance(value, str) and not _PERCENT.fullmatch(value) else value
            )
        return None

    def _category(self, category: str) -> Replacement:
        return lambda text: self._names.word(text, category)

    def _each(self, replacement: Replacement) -> Replacement:
        return lambda texts: tuple(map(replacement, texts))

    def _quantity(self, amount: Any) -> Any:
        return None if amount is None else anonymous_amount(amount)

    def _labels(self, labels: Labels) -> Labels:
        return {self._names.key(key): self._names.value(key, value) for key, value in labels.items()}

    def _annotations(self, annotations: Labels) -> Labels:
        rules: dict[str, Callable[[str], str]] = {
            _MIGRATED_PLUGINS: lambda value: ",".join(map(self._names.word, value.split(","))),
            **dict.fromkeys((_REVISION, DELETION_COST, DISRUPTION_COST), self._integer),
            **dict.fromkeys((DO_NOT_DISRUPT, SAFE_TO_EVICT), self._switch),
            LEADER_ANNOTATION: self._leader,
            cluster_autoscaler.OWNER_KIND: self._renamed_kind,
            cluster_autoscaler.MACHINE: self._machine,
            cluster_autoscaler.GPU_TYPE: self._names.resource,
            cluster_autoscaler.CAPACITY_LABELS: self._labels_in_text,
            cluster_autoscaler.CAPACITY_TAINTS: self._labels_in_text,
            **dict.fromkeys(cluster_autoscaler.AMOUNT_ANNOTATIONS, self._amount_in_text),
        }
        return {key: rules.get(key, self._names.word)(value) for key, value in annotations.items()}

    def _integer(self, text: str) -> str:
        return text if parse_int64(text) is not None else self._names.word(text)

    def _readable(self, read: Callable[[str], object]) -> Replacement:
        """Return a replacement that keeps the texts that can be read, since they hold no name."""

        def replacement(text: str) -> str:
            try:
                read(text)
            except ValueError:
                return self._names.word(text)
            return text

        return replacement

    def _switch(self, text: str) -> str:
        return text if _SWITCH.fullmatch(text) else self._names.word(text)

    def _amount_in_text(self, text: str) -> str:
        return text if quantity_problem(text) is None else self._names.word(text)

    def _machine(self, text: str) -> str:
        """Replace a machine, ``NAMESPACE/SET-SUFFIX``, by one that still names its set."""
        namespace, _, name = text.rpartition("/")
        return f"{self._names.word(namespace, 'namespace')}/{self._names.word(name.rpartition('-')[0])}-x"

    def _labels_in_text(self, text: str) -> str:
        """Replace keys and values of labels, ``KEY=VALUE,KEY=VALUE``, and of taints, which end with their effect."""
        out = []
        for each in filter(None, text.split(",")):
            key, equals, rest = each.partition("=")
            value, colon, effect = rest.partition(":")
            renamed = f"{equals}{self._names.value(key, value)}{colon}{self._names.choice(effect)}"
            out.append(f"{self._names.key(key)}{renamed}")
        return ",".join(out)

    def _leader(self, text: str) -> str:
        """Replace the holder in a leader election record; any other text gets a pseudonym."""
        record = lock_record(text)
        if record is None:
            return self._names.word(text)
        holder = self._names.holder(record.holder_identity)
        return msgspec.json.encode(replace(record, holder_identity=holder)).decode()

    def _conditions(self, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        return anonymous_conditions(conditions, self._names)

    def _taint(self, taint: Taint) -> Taint:
        key, value = self._names.key(taint.key), self._names.value(taint.key, taint.value)
        return replace(taint, key=key, value=value, effect=self._names.choice(taint.effect))

    def _renamed_toleration(self, toleration: Toleration) -> Toleration:
        names, old = self._names, toleration.key
        if toleration.operator in _COMPARING:
            (value,) = names.compare(old, (toleration.value,))
        else:
            value = names.value(old, toleration.value)
        operator, effect = names.choice(toleration.operator), names.choice(toleration.effect)
        return replace(toleration, key=names.key(old), value=value, operator=operator, effect=effect)

    def _requirement(self, requirement: Any) -> Any:
        names, old = self._names, requirement.key
        if requirement.operator in _COMPARING:
            values = names.compare(old, requirement.values)
        else:
            values = tuple(names.value(old, value) for value in requirement.values)
        return replace(requirement, key=names.key(old), values=values, operator=names.choice(requirement.operator))

    def _renamed_kind(self, kind: str) -> str:
        return kind if kind in _KINDS else self._names.word(kind, "kind")

    def _topology(self, requirement: TopologySelectorLabelRequirement) -> TopologySelectorLabelRequirement:
        values = tuple(self._names.value(requirement.key, value) for value in requirement.values)
        return replace(requirement, key=self._names.key(requirement.key), values=values)

    def _renamed_owner(self, owner: OwnerReference) -> OwnerReference:
        group, _, version = owner.api_version.rpartition("/")
        known = version in _VERSIONS and is_kept_group(group)
        return replace(
            owner,
            api_version=owner.api_version if known else f"{_OTHER_GROUP}/v1",
            kind=self._renamed_kind(owner.kind),
            name=self._names.word(owner.name),
            uid=self._names.uid(owner.uid),
        )

    def _local_reference(self, reference: Any) -> Any:
        return replace(
            reference,
            api_group=reference.api_group if is_kept_group(reference.api_group) else _OTHER_GROUP,
            kind=self._renamed_kind(reference.kind),
            name=self._names.word(reference.name),
        )

    def _reference(self, reference: TypedObjectReference) -> TypedObjectReference:
        renamed: TypedObjectReference = self._local_reference(reference)
        namespace, uid = self._names.word(reference.namespace, "namespace"), self._names.uid(reference.uid)
        return replace(renamed, namespace=namespace, uid=uid)


@cache
def _captured_structs() -> frozenset[type[msgspec.Struct]]:
    """Return the types of captured objects and of all structs inside them."""
    return frozenset(part for kind in CAPTURED_KINDS.values() for part in _all_structs(kind))


def _all_structs(type_: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """Yield a struct type and the types of all structs inside it."""
    yield type_
    for field in msgspec.structs.fields(type_):
        for part in structs_in(field.type):
            yield from _all_structs(part)


# The mapping file: the originals of an anonymised snapshot's pseudonyms, for the person who anonymised it only.


def check_mapping(path: str | Path, target: str | Path, *, force: bool) -> None:
    """Check that the mapping can be written to a file. Call before reading a cluster for it.

    Args:
        target: The target of the snapshot, which must not contain the mapping.
        force: True if an existing file may be replaced.

    Raises InputError if the mapping cannot be written there.
    """
    file, snapshot = Path(path).resolve(), Path(target).resolve()
    if file == snapshot or snapshot in file.parents:
        hint = "name a file outside it: readers of the snapshot must not have the names"
        raise InputError("would be part of the snapshot", where=str(path), hint=hint)
    if not file.parent.is_dir():
        raise InputError("there is no such folder", where=str(Path(path).parent))
    if file.is_dir() or (file.exists() and not force):
        what = "is a folder" if file.is_dir() else "already exists"
        raise InputError(
            what, where=str(path), hint="name another file" + ("" if file.is_dir() else ", or give --force")
        )


def write_mapping(originals: Mapping[str, str], path: str | Path) -> None:
    """Write the mapping, one pseudonym per line, to a file that only its owner can read (mode 0600).

    Args:
        path: The file; an existing one is replaced once the new one is complete.

    Raises InputError if the file cannot be written.
    """
    file = Path(path)
    text = json.dumps(dict(sorted(originals.items())), indent=0, ensure_ascii=False) + "\n"
    try:
        # mkstemp creates the file with mode 0600.
        handle, unfinished = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(unfinished).replace(file)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", where=str(path)) from None

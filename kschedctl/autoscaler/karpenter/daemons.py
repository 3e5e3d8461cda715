"""The pods of DaemonSets that a new node will have: their requests and ports (S/scheduler.go, U/daemonset)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from kschedctl.autoscaler.instance_types import WELL_KNOWN, Amounts, InstanceTypes, Resources, TypeMask
from kschedctl.autoscaler.karpenter.pods import (
    HostPort,
    host_ports,
    requests_of,
    requirements_of,
    untolerated,
    with_soft_taints,
    without_first_term,
)
from kschedctl.autoscaler.requirements import Requirements, are_compatible
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Taint
from kschedctl.objects.defaults import default_pod_spec
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Affinity, Pod, PodSpec
from kschedctl.objects.quantity import QuantityFormat
from kschedctl.objects.selectors import NodeAffinity
from kschedctl.objects.workload import DaemonSet


class DaemonPod:
    """The pod that a DaemonSet would create on a new node.

    Required terms of node affinity that fail for one instance type are gone for all that are looked at later.
    """

    def __init__(self, pod: Pod, resources: Resources) -> None:
        self.key = pod.key
        self.spec = pod.spec
        self.nanos, self.notation = requests_of(pod)
        self.requests = resources.amounts(self.nanos)
        self.ports = host_ports(pod.spec)

    def fits_labels(self, taints: Sequence[Taint], labels: Requirements) -> bool:
        """Report whether the pod will be on a node that is known."""
        wanted = requirements_of(self.spec, preferred=False)
        return not untolerated(self.spec, taints) and are_compatible(labels, wanted)

    def types_of(self, taints: Sequence[Taint], requirements: Requirements, types: InstanceTypes) -> TypeMask:
        """Return the instance types of a pool on whose nodes the pod will be."""
        out = np.zeros(len(types.types), dtype=np.bool_)
        self.spec = with_soft_taints(self.spec) or self.spec
        if untolerated(self.spec, taints):
            return out
        position = 0
        while position < len(out):
            wanted = requirements_of(self.spec, preferred=False)
            meeting = types.meeting(wanted) & are_compatible(requirements, wanted, WELL_KNOWN)
            failing = np.flatnonzero(~meeting[position:])
            end = position + int(failing[0]) if len(failing) else len(out)
            out[position:end] = True
            if end == len(out):
                break
            fewer = without_first_term(self.spec)
            if fewer is None:
                out[end:] = meeting[end:]
                break
            self.spec = fewer
            position = end
        return out


def daemon_pods(cluster: Cluster, resources: Resources) -> list[DaemonPod]:
    """Return a pod of each DaemonSet: the newest that exists, or one made from the template."""
    newest: dict[str, Pod] = {}
    sets = {each.metadata.uid or each.name: each for each in cluster.list(DaemonSet)}
    for index in range(len(cluster.pods)) if sets else ():
        owner = cluster.pods.owner(index)
        if owner is None or owner.kind != "DaemonSet" or owner.uid not in sets:
            continue
        pod = cluster.pods.pod(index)
        known = newest.get(owner.uid)
        if known is None or _created(pod) > _created(known):
            newest[owner.uid] = pod
    out = []
    for uid, daemon_set in sets.items():
        template = daemon_set.spec.template
        if template is None:
            continue
        metadata = ObjectMeta(name=daemon_set.name, namespace=daemon_set.namespace)
        pod = newest.get(uid, Pod(metadata=metadata, spec=default_pod_spec(template.spec)))
        pod = replace(pod, spec=_with_terms_of(pod.spec, template.spec))
        claims = pod.spec.resource_claims or any(each.resources.claims for each in pod.spec.containers)
        if not claims:
            out.append(DaemonPod(pod, resources))
    return out


def _created(pod: Pod) -> float:
    time = pod.metadata.creation_timestamp
    return time.timestamp() if time is not None else 0.0


def _with_terms_of(spec: PodSpec, template: PodSpec) -> PodSpec:
    """Return a spec with the required node affinity of a template, which the controller replaces in pods."""
    affinity = template.affinity.node_affinity if template.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    if required is None:
        return spec
    own = spec.affinity or Affinity()
    node_affinity = replace(
        own.node_affinity or NodeAffinity(), required_during_scheduling_ignored_during_execution=required
    )
    return replace(spec, affinity=replace(own, node_affinity=node_affinity))


@dataclass(frozen=True, eq=False)
class DaemonGroup:
    """Instance types whose nodes have the same daemons."""

    types: TypeMask
    daemons: tuple[DaemonPod, ...]
    #: The sum of their requests: as an array, and in nano-units by resource.
    requests: Amounts
    nanos: Mapping[str, int]
    notation: Mapping[str, QuantityFormat]
    ports: tuple[tuple[str, HostPort], ...]


def daemon_groups(
    taints: Sequence[Taint],
    requirements: Requirements,
    types: InstanceTypes,
    daemons: Sequence[DaemonPod],
    resources: Resources,
) -> list[DaemonGroup]:
    """Return the instance types of a pool by their daemons; those without any come first."""
    masks = [each.types_of(taints, requirements, types) for each in daemons]
    groups: dict[tuple[str, ...], tuple[list[int], list[DaemonPod]]] = {}
    for i in range(len(types.types)):
        own = [daemon for daemon, mask in zip(daemons, masks, strict=True) if mask[i]]
        groups.setdefault(tuple(sorted(each.key for each in own)), ([], own))[0].append(i)
    return [_group(*groups[keys], len(types.types), resources) for keys in sorted(groups, key=",".join)]


def _group(positions: list[int], daemons: list[DaemonPod], n_types: int, resources: Resources) -> DaemonGroup:
    mask = np.zeros(n_types, dtype=np.bool_)
    mask[positions] = True
    nanos: dict[str, int] = {}
    notation: dict[str, QuantityFormat] = {}
    for each in daemons:
        notation = {**each.notation, **notation}
        for name, amount in each.nanos.items():
            nanos[name] = nanos.get(name, 0) + amount
    ports = tuple((each.key, port) for each in daemons for port in each.ports)
    return DaemonGroup(mask, tuple(daemons), resources.amounts(nanos), nanos, notation, ports)


def daemons_on(daemons: Sequence[DaemonPod], taints: Sequence[Taint], labels: Requirements) -> Iterator[DaemonPod]:
    """Yield the daemons that a known node has or will have."""
    return (each for each in daemons if each.fits_labels(taints, labels))

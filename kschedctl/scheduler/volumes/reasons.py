"""The operands behind the reasons of VolumeBinding, their explanation, and remedies of the volume plugins."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import show_labels, similar
from kschedctl.objects.core import Node
from kschedctl.objects.meta import Labels
from kschedctl.objects.selectors import IN, NodeSelectorRequirement, NodeSelectorTerm, Requirement, Selector
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, TopologySelectorTerm
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Operation, Remedy, RemedyContext, patched, replace_operation
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.volumes.binder import Binder, BoundCheck, FoundVolumes, ProvisionCheck
from kschedctl.scheduler.volumes.claims import SELECTED_NODE, claim_use, requested_storage, required_affinity
from kschedctl.scheduler.volumes.csi_nodes import in_tree_plugin, migrated_affinity
from kschedctl.scheduler.volumes.matching import capacities, show_storage, volume_limit
from kschedctl.scheduler.volumes.zones import LABEL_KEYS, label_terms

# Remedies of the volume plugins: the right name of a claim, or a copy of a volume.


def claim_remedies(context: RemedyContext, claim: str = "") -> Iterator[Remedy]:
    """Yield remedies that correct the name of a claim that does not exist.

    The name is replaced by a similar one of the namespace. A claim that exists is never replaced: the pod would start
    on other data. Claims that other pods mount, and those made for one pod, are not proposed.

    Args:
        claim: The claim; empty for any.
    """
    pod, cluster = context.pod, context.cluster
    names = {other.name for other in cluster.list(PersistentVolumeClaim) if other.namespace == pod.namespace}
    wrong = [
        (i, source.claim_name)
        for i, volume in enumerate(pod.spec.volumes)
        if (source := volume.persistent_volume_claim) is not None
        and source.claim_name not in names
        and claim in ("", source.claim_name)
    ]
    if not wrong:
        return
    free = names - _mounted(cluster, pod.namespace)
    for i, name in wrong:
        for j, other in enumerate(similar(name, sorted(free))):
            yield context.pod_patch(
                f"use claim {other} instead of {name}, which does not exist",
                replace_operation(other, "spec", "volumes", i, "persistentVolumeClaim", "claimName"),
                risk=Risk.MISTAKE,
                family=("claim", i),
                within=j,
            )


def _mounted(cluster: Cluster, namespace: str) -> set[str]:
    """Return the claims of a namespace that pods mount or own."""
    owned = {
        each.name
        for each in cluster.list(PersistentVolumeClaim)
        if each.namespace == namespace and each.metadata.controller is not None
    }
    pods = (cluster.pods.pod(index) for index in range(len(cluster.pods)))
    used = (
        use.claim
        for pod in pods
        if pod.namespace == namespace
        for volume in pod.spec.volumes
        if (use := claim_use(pod, volume)) is not None
    )
    return owned.union(used)


def elsewhere_remedies(context: RemedyContext, claim: str, volume: str) -> Iterator[Remedy]:
    """Yield remedies that move the volume of a claim to the node's topology."""
    found = context.cluster.get(PersistentVolume, volume)
    labels = context.node.metadata.labels
    if found is not None:
        patch = [
            replace_operation(labels[key], "metadata", "labels", key)
            for key, value in found.metadata.labels.items()
            if key in LABEL_KEYS and labels.get(key, value) != value
        ]
        patch += _moved_affinity(found, labels)
        if patch:
            where = labels.get(_zone_key(labels), context.node.name)
            yield Remedy(
                summary=f"move volume {volume} of claim {claim} to {where}: a copy of its data under the same name",
                scope=RemedyScope.CLUSTER,
                changes=(patched(found, *patch),),
                risk=Risk.DATA,
                family=("volume elsewhere", volume),
            )


def _zone_key(labels: dict[str, str]) -> str:
    return next((key for key in reversed(LABEL_KEYS) if key in labels and "zone" in key), HOSTNAME)


def _moved_affinity(volume: PersistentVolume, labels: dict[str, str]) -> Iterator[Operation]:
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    if required is None:
        return

    def here(requirement: NodeSelectorRequirement) -> NodeSelectorRequirement:
        value = labels.get(requirement.key)
        # A disk of one machine cannot be elsewhere.
        if requirement.operator != IN or value is None or value == labels.get(HOSTNAME):
            return requirement
        return replace(requirement, values=(value,))

    terms: tuple[NodeSelectorTerm, ...] = tuple(
        replace(term, match_expressions=tuple(here(each) for each in term.match_expressions))
        for term in required.node_selector_terms
    )
    if terms != required.node_selector_terms:
        yield replace_operation(replace(required, node_selector_terms=terms), "spec", "nodeAffinity", "required")


def show_terms(terms: tuple[Selector, ...]) -> str:
    """Return alternative terms as text.

    Args:
        terms: The terms, of which one must hold; all requirements of a term must hold.
    """
    return " or ".join(" and ".join(map(str, term)) for term in terms)


class ClaimReason(Operands, frozen=True):
    """A reason for rejection that concerns one claim."""

    #: The name of the claim, in the pod's namespace.
    claim: str

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to use another claim."""
        return claim_remedies(context, self.claim)


class VolumeReason(ClaimReason, frozen=True):
    """A reason for rejection that concerns the volume a claim is bound to."""

    #: The name of the volume.
    volume: str

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to move the volume to the node, or to use another claim."""
        return elsewhere_remedies(context, self.claim, self.volume)


class VolumeMissing(VolumeReason, frozen=True):
    """The claim's volume does not exist."""

    def words(self) -> str:
        return f"claim {self.claim} is bound to volume {self.volume}, which does not exist"


class VolumeNotTranslated(VolumeReason, frozen=True):
    """The claim's volume cannot be translated to its CSI driver."""

    #: The problem, in the words of the translation library.
    problem: str

    def words(self) -> str:
        return f"claim {self.claim}: {self.problem}"

    def data(self) -> dict[str, Any]:
        return {"claim": self.claim, "volume": self.volume}


class VolumeForNoNode(VolumeReason, frozen=True):
    """No node can match the node affinity of the claim's volume."""

    def words(self) -> str:
        return f"claim {self.claim} is on volume {self.volume}, whose node affinity matches no node"


class VolumeForOtherNodes(VolumeReason, frozen=True):
    """The claim's volume is for nodes with other labels."""

    #: The requirements that the node does not meet, for each term of the volume's node affinity.
    wanted: tuple[Selector, ...]
    #: The node's values of the labels in ``wanted``; ``None`` for a label that the node lacks.
    labels: dict[str, str | None]

    def words(self) -> str:
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return f"claim {self.claim} is on volume {self.volume}, which is for {wanted}; the node has {has}"

    def data(self) -> dict[str, Any]:
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return {"claim": self.claim, "volume": self.volume, "wanted": wanted, "node": has}


class ProvisionedElsewhere(ClaimReason, frozen=True):
    """The claim is being provisioned for another node."""

    #: The node for which the claim is being provisioned.
    selected_node: str

    def words(self) -> str:
        return f"claim {self.claim} is being provisioned for node {self.selected_node}"


class NotProvisioned(ClaimReason, frozen=True):
    """The claim finds no volume, and its class does not provision."""

    #: The StorageClass of the claim.
    storage_class: str
    #: The number of volumes in the cluster that match the claim, including taken and unreachable ones.
    volumes: int

    def words(self) -> str:
        volumes = "no volume that matches it is free and reachable" if self.volumes else "no volume matches it"
        return f"claim {self.claim}: {volumes}, and class {self.storage_class} does not provision"


class ProvisionedForOtherNodes(ClaimReason, frozen=True):
    """The claim's class provisions only in other topologies."""

    #: The StorageClass of the claim.
    storage_class: str
    #: The ``allowedTopologies`` of the class.
    wanted: tuple[Selector, ...]
    #: The node's values of the labels in ``wanted``; ``None`` for a label that the node lacks.
    labels: dict[str, str | None]

    def words(self) -> str:
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return f"claim {self.claim}: class {self.storage_class} provisions only for {wanted}; the node has {has}"

    def data(self) -> dict[str, Any]:
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return {"claim": self.claim, "storageClass": self.storage_class, "wanted": wanted, "node": has}


class NotEnoughStorage(ClaimReason, frozen=True):
    """The claim is larger than any volume that can be provisioned for the node."""

    #: The StorageClass that would provision the volume.
    storage_class: str
    #: The size of the claim, in nano-bytes.
    wanted_nanos: int
    #: The size of the largest volume that can be provisioned, in nano-bytes; ``None`` if none can be.
    largest_nanos: int | None

    @property
    def largest(self) -> str:
        """The size of the largest volume that can be provisioned, as text."""
        return show_storage(self.largest_nanos) if self.largest_nanos is not None else "none"

    def words(self) -> str:
        wanted = show_storage(self.wanted_nanos)
        return f"claim {self.claim} wants {wanted}, the largest volume that can be provisioned here is {self.largest}"

    def data(self) -> dict[str, Any]:
        return {
            "claim": self.claim,
            "storageClass": self.storage_class,
            "wanted": show_storage(self.wanted_nanos),
            "largest": self.largest,
        }


# Explanation of why a node is not for a volume: the claim, the volume, and the labels of the node and the volume.


def explain_bound(binder: Binder, check: BoundCheck, node: Node, row: int) -> Operands:
    """Explain why a bound claim's volume cannot be reached from a node."""
    claim = check.claim.name
    if check.volume is None:
        return VolumeMissing(claim, check.claim.spec.volume_name)
    volume = check.volume.name
    if check.problem and binder.topology.needs_translation(check.volume)[row]:
        return VolumeNotTranslated(claim, volume, check.problem)
    failing = failing_requirements(binder, check.volume, node.metadata.labels, row)
    if not failing:
        return VolumeForNoNode(claim, volume)
    return VolumeForOtherNodes(claim, volume, failing, _labels_in(failing, node.metadata.labels))


def failing_requirements(
    binder: Binder, volume: PersistentVolume, labels: Labels, row: int
) -> tuple[tuple[Requirement, ...], ...]:
    """Return the requirements that a node's labels do not meet, for each term of a volume's node affinity."""
    affinity = required_affinity(volume)
    plugin = in_tree_plugin(volume.spec)
    if plugin is not None and binder.topology.needs_translation(volume)[row]:
        affinity = migrated_affinity(volume, plugin)
    if affinity is None:
        return ()
    return tuple(
        tuple(requirement for requirement in term if not requirement.holds(labels.get(requirement.key)))
        for term in label_terms(affinity)
    )


def _labels_in(terms: tuple[Selector, ...], labels: Labels) -> dict[str, str | None]:
    """Return a node's values of the labels that the terms mention."""
    return {requirement.key: labels.get(requirement.key) for term in terms for requirement in term}


def explain_unbound(found: FoundVolumes, node: Node, row: int) -> Operands:
    """Explain why a claim finds no volume on a node and none can be provisioned there."""
    if found.selected_elsewhere[row]:
        for claim in found.selected:
            selected = claim.metadata.annotations[SELECTED_NODE]
            if selected != node.name:
                return ProvisionedElsewhere(claim.name, selected)
    check = failing_provision(found, row)
    claim = check.claim
    storage_class = check.provisioning.storage_class
    if check.provisioning.unsupported:
        match = next((match for match in found.matches if match.claim is claim), None)
        return NotProvisioned(claim.name, storage_class.name, len(match.candidates) if match is not None else 0)
    wanted = allowed_terms(storage_class.allowed_topologies)
    return ProvisionedForOtherNodes(claim.name, storage_class.name, wanted, _labels_in(wanted, node.metadata.labels))


def explain_space(cluster: Cluster, binder: Binder, check: ProvisionCheck, row: int) -> Operands:
    """Explain why there is not enough capacity for a claim on a node."""
    limits = [
        limit
        for capacity in capacities(cluster, check.provisioning.storage_class.name)
        if binder.topology.selected(capacity.node_topology)[row] and (limit := volume_limit(capacity)) is not None
    ]
    largest = max(limits, default=None)
    storage_class = check.provisioning.storage_class.name
    return NotEnoughStorage(check.claim.name, storage_class, requested_storage(check.claim) or 0, largest)


def failing_provision(found: FoundVolumes, row: int) -> ProvisionCheck:
    """Return the first claim for which no volume can be provisioned on a node; there must be one."""
    for check in found.provisions:
        wanted = check.provisioning
        if check.needed[row] and (wanted.unsupported or not wanted.allowed[row] or not wanted.enough[row]):
            return check
    raise LookupError(f"every claim can be provisioned for on row {row}")


def allowed_terms(topologies: tuple[TopologySelectorTerm, ...]) -> tuple[Selector, ...]:
    """Return a class's ``allowedTopologies`` as terms over labels."""
    return tuple(tuple(Requirement(e.key, IN, e.values) for e in term.match_label_expressions) for term in topologies)

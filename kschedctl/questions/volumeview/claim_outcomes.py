"""The outcome for the claims of a pod on every node that the pod may be scheduled to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kschedctl.common.arrays import Mask
from kschedctl.objects.core import Node
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.questions.answers.volumes import ClaimVerdict
from kschedctl.questions.volumeview.zones import in_zone
from kschedctl.scheduler.volumes.binder import Binder, BoundCheck, FoundVolumes, ProvisionCheck
from kschedctl.scheduler.volumes.claims import SELECTED_NODE, claim_key, group_claims
from kschedctl.scheduler.volumes.reasons import allowed_terms, explain_bound, explain_space, show_terms


@dataclass(frozen=True, slots=True)
class ClaimOnNode:
    """The outcome for a claim on a node.

    Attributes
    ----------
    claim : str
        ``namespace/name``.
    verdict : ClaimVerdict
        The outcome for the claim.
    volume : str
        The volume that the claim has or would be bound to; empty if there is none.
    detail : str
        The reason why the claim is not usable; empty if it is usable.
    """

    claim: str
    verdict: ClaimVerdict
    volume: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class NodeOverview:
    """The outcome for some claims on a node, in the order of the pod's volumes."""

    node: str
    claims: tuple[ClaimOnNode, ...]

    @property
    def usable(self) -> bool:
        """True if every claim is usable on the node."""
        return all(claim.verdict.usable for claim in self.claims)


def claims_on_nodes(binder: Binder, claims: Sequence[PersistentVolumeClaim]) -> tuple[NodeOverview, ...]:
    """Return the outcome for the claims of one pod on each node.

    Parameters
    ----------
    binder : Binder
        The binder over the cluster.
    claims : sequence of PersistentVolumeClaim
        The claims, in the order of the pod's volumes.

    Raises
    ------
    SnapshotError
        If a size is not a quantity.
    SelectorError
        If a claim's selector is invalid.
    """
    cluster = binder.cluster
    found = binder.find_pod_volumes(group_claims(cluster, claims))
    volumes = (check.volume for check in found.bound)
    zones = {volume.name: in_zone(cluster.nodes, volume) for volume in volumes if volume is not None}
    looker = _Looker(binder, found, zones)
    return tuple(
        NodeOverview(node.name, tuple(looker.look(claim, node, row) for claim in claims))
        for row, node in enumerate(cluster.nodes.objects)
    )


@dataclass(frozen=True, slots=True)
class _Looker:
    """A reader of the binder's result for single claims and nodes."""

    binder: Binder
    found: FoundVolumes
    in_zone: dict[str, Mask]

    def look(self, claim: PersistentVolumeClaim, node: Node, row: int) -> ClaimOnNode:
        """Return the outcome for a claim on a node."""
        key = claim_key(claim)
        for check in self.found.bound:
            if check.claim is claim:
                return self._bound(check, node, row)
        if any(selected is claim for selected in self.found.selected):
            selected_node = claim.metadata.annotations[SELECTED_NODE]
            if selected_node != node.name:
                return ClaimOnNode(key, ClaimVerdict.ELSEWHERE, detail=f"being provisioned for node {selected_node}")
        for match in self.found.matches:
            if match.claim is claim and match.choice[row] >= 0:
                return ClaimOnNode(key, ClaimVerdict.TAKES, match.candidates[match.choice[row]].name)
        for provision in self.found.provisions:
            if provision.claim is claim:
                return self._provisioned(provision, row)
        return ClaimOnNode(key, ClaimVerdict.IMMEDIATE, detail="the PersistentVolume controller must bind it first")

    def _bound(self, check: BoundCheck, node: Node, row: int) -> ClaimOnNode:
        key = claim_key(check.claim)
        if check.volume is not None and check.reachable[row]:
            verdict = ClaimVerdict.BOUND if self.in_zone[check.volume.name][row] else ClaimVerdict.OTHER_ZONE
            return ClaimOnNode(key, verdict, check.volume.name)
        verdict = ClaimVerdict.MISSING if check.volume is None else ClaimVerdict.UNREACHABLE
        detail = explain_bound(self.binder, check, node, row).words()
        return ClaimOnNode(key, verdict, check.claim.spec.volume_name, detail)

    def _provisioned(self, check: ProvisionCheck, row: int) -> ClaimOnNode:
        key = claim_key(check.claim)
        wanted = check.provisioning
        name = wanted.storage_class.name
        if wanted.unsupported:
            detail = f"no volume matches it here, and class {name} does not provision"
            return ClaimOnNode(key, ClaimVerdict.NONE, detail=detail)
        if not wanted.allowed[row]:
            topologies = show_terms(allowed_terms(wanted.storage_class.allowed_topologies))
            return ClaimOnNode(key, ClaimVerdict.NONE, detail=f"class {name} provisions only for {topologies}")
        if not wanted.enough[row]:
            detail = explain_space(self.binder.cluster, self.binder, check, row).words()
            return ClaimOnNode(key, ClaimVerdict.NO_SPACE, detail=detail)
        return ClaimOnNode(key, ClaimVerdict.PROVISIONED)

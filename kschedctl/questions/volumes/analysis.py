"""``volumes``: the volume that a claim has or would get, and the nodes from which the claims of a pod can be used."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import SnapshotError
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.rules.unbound_claims import diagnose_unbound
from kschedctl.objects.core import Node
from kschedctl.objects.selectors import SelectorError
from kschedctl.objects.volume import PersistentVolumeClaim, StorageClass
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import Arguments, PodSubject, Provenance, diagnosis_data, envelope, provenance
from kschedctl.questions.volumes.answer import (
    ClaimData,
    ClaimVerdict,
    ClaimVolumes,
    ControllerData,
    MismatchData,
    NodeVolumesData,
    NotTakenData,
    PodVolumes,
)
from kschedctl.questions.volumes.overview import ClaimOverview, PodOverview, VolumeOverview
from kschedctl.questions.volumes.request import VolumesRequest
from kschedctl.scheduler.volumes.claims import claim_class, claim_key, is_delayed, is_undecidable
from kschedctl.trials.claim_action import ClaimAction
from kschedctl.trials.completeness import CLAIM_KINDS, missing_for_claims
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.persistent_volumes import ClaimOutcome

_FAILURES = (
    ClaimAction.WAIT_FOR_VOLUME,
    ClaimAction.FAILED_BINDING,
    ClaimAction.VOLUME_MISMATCH,
    ClaimAction.PROVISIONING_FAILED,
    ClaimAction.LOST,
)


@dataclass(frozen=True, slots=True)
class ClaimSubject:
    """A PersistentVolumeClaim that a question is about, with the options that name only this claim, as `PodSubject`."""

    claim: PersistentVolumeClaim
    arguments: Arguments = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The claim's name, as namespace/name."""
        return f"{self.claim.namespace}/{self.claim.name}"


def volumes(
    cluster: LoadedCluster, request: VolumesRequest, handle: AnalysisHandle
) -> tuple[ClaimVolumes | PodVolumes, ...]:
    """Report the volume that each claim has or would get, and the nodes on which a pod's claims can be used together.

    Raises SnapshotError if a claim or volume cannot be understood.
    """
    overview = VolumeOverview(cluster.cluster)
    try:
        return tuple(_answer(cluster, overview, one, by_node=request.by_node) for one in request.subjects)
    except SelectorError as error:
        raise SnapshotError(str(error), path=error.path) from None


def _answer(
    cluster: LoadedCluster, overview: VolumeOverview, asked: ClaimSubject | PodSubject, *, by_node: bool
) -> ClaimVolumes | PodVolumes:
    if isinstance(asked, PodSubject):
        pod = cluster.find(asked.pod, where=asked.where)
        found = (lack for lack in cluster.missing(pod) if lack.kind in CLAIM_KINDS)
        missing = tuple(lack for lack in found if lack.kind != Node.__name__ or lack.permission)
        return pod_answer(overview.pod(pod), cluster.cluster, provenance(cluster, missing))
    rests_on = provenance(cluster, missing_for_claims(cluster.cluster, (asked.claim,)))
    nodes = overview.on_nodes(asked.claim) if by_node else None
    return claim_answer(overview.claim(asked.claim), nodes, cluster.cluster, rests_on)


def claim_answer(
    found: ClaimOverview, on_nodes: tuple[NodeVolumesData, ...] | None, cluster: Cluster, rests_on: Provenance
) -> ClaimVolumes:
    """Return the answer for one claim; ``on_nodes`` is ``None`` to leave the nodes out."""
    unknown = _volumes_unknown(rests_on) or is_undecidable(cluster, found.claim) or cluster.is_forbidden(Node)
    nodes = on_nodes if not unknown else None
    # Nothing is wrong with a claim that waits for its pods, and without its class in the snapshot nothing is known.
    waits = is_delayed(cluster, found.claim) and not found.claim.spec.volume_name
    settled = found.outcome.action in (ClaimAction.KEEP, ClaimAction.BIND, ClaimAction.LOST)
    told = on_nodes is not None and not (waits or settled or rests_on.missing)
    diagnoses = tuple(diagnose_unbound(cluster, (found.claim,))) if told else ()
    return ClaimVolumes(
        **envelope(cluster, rests_on),
        claim=_claim(found, nodes or (), 0, rests_on, cluster),
        nodes=nodes,
        diagnoses=tuple(map(diagnosis_data, diagnoses)),
        cures=tuple(summary for one in diagnoses for summary in _cures(one)),
    )


def _cures(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the cures of a diagnosis in words."""
    yield from (remedy.summary for remedy in diagnosis.remedies)
    yield from (advice.summary for advice in diagnosis.advice)


def pod_answer(found: PodOverview, cluster: Cluster, rests_on: Provenance) -> PodVolumes:
    """Return the answer for the claims of a pod."""
    unknown = _volumes_unknown(rests_on) or not found.is_known or cluster.is_forbidden(Node)
    nodes = () if unknown else found.nodes
    refusals = (lack.needed_for for lack in rests_on.missing if lack.permission)
    claims = tuple(_claim(claim, nodes, i, rests_on, cluster) for i, claim in enumerate(found.claims))
    return PodVolumes(
        **envelope(cluster, rests_on),
        pod=found.pod.key,
        summary=(
            f"The nodes for {found.pod.key} are unknown: {next(refusals, 'its volumes are not in the snapshot')}."
            if unknown
            else _pod_summary(found, claims, nodes)
        ),
        problem=found.problem,
        claims=claims,
        zones=found.zones,
        selected_zones=found.selected_zones,
        conflict=found.conflict and not unknown,
        nodes=nodes,
    )


def _claim(
    found: ClaimOverview, nodes: Sequence[NodeVolumesData], position: int, rests_on: Provenance, cluster: Cluster
) -> ClaimData:
    """Return the data of one claim, whose verdicts stand at ``position`` among those of each node."""
    claim, outcome = found.claim, found.outcome
    # If the snapshot has no volumes at all, a bound claim is not lost: its volume was just not captured.
    unknown = outcome.action is ClaimAction.LOST and _volumes_unknown(rests_on)
    verdicts = [node.claims[position].verdict for node in nodes]
    may = not verdicts or any(verdict.usable or verdict is ClaimVerdict.IMMEDIATE for verdict in verdicts)
    if found.storage_class is not None:
        binding_mode = found.storage_class.volume_binding_mode
    else:
        binding_mode = "Unknown" if cluster.is_forbidden(StorageClass) else ""
    return ClaimData(
        name=claim_key(claim),
        summary=(
            f"{claim_key(claim)} is bound to {outcome.volume}, which is not in the snapshot."
            if unknown
            else _claim_summary(found, nodes, verdicts)
        ),
        phase=claim.status.phase,
        size=str(claim.spec.resources.requests.get("storage", "")),
        access_modes=tuple(claim.spec.access_modes),
        storage_class=claim_class(outcome.claim),
        binding_mode=binding_mode,
        volume=claim.spec.volume_name,
        pods=found.pods,
        controller=ControllerData(
            ClaimAction.KEEP if unknown else outcome.action,
            f"keeps it bound to {outcome.volume} if that volume exists" if unknown else _controller_summary(outcome),
            "" if unknown else outcome.message,
            outcome.volume,
            outcome.provisioner,
            outcome.default_class,
            tuple(
                NotTakenData(r.volume, tuple(MismatchData(m.field, m.wanted, m.found) for m in r.mismatches))
                for r in outcome.rejected
            ),
        ),
        zones=found.zones,
        trap=found.trap,
        usable=unknown or (may and not found.stranded and outcome.action not in _FAILURES),
    )


def _volumes_unknown(rests_on: Provenance) -> bool:
    """Report whether the snapshot has no volumes at all although a claim is bound to one."""
    return any(lack.kind == "PersistentVolume" for lack in rests_on.missing)


def _controller_summary(outcome: ClaimOutcome) -> str:
    text = _ACTIONS[outcome.action].format(volume=outcome.volume, provisioner=outcome.provisioner)
    if outcome.default_class:
        return f"gives it the default class {outcome.default_class}, then {text}"
    return text


_ACTIONS = {
    ClaimAction.KEEP: "keeps it bound to {volume}",
    ClaimAction.BIND: "binds it to {volume}",
    ClaimAction.PROVISION: "requests a volume from {provisioner}",
    ClaimAction.WAIT_FOR_FIRST_CONSUMER: "waits for a pod that uses it",
    ClaimAction.WAIT_FOR_POD: "waits for its pods to be scheduled",
    ClaimAction.WAIT_FOR_VOLUME: "waits for volume {volume}, which does not exist",
    ClaimAction.FAILED_BINDING: "finds no volume for it",
    ClaimAction.VOLUME_MISMATCH: "does not bind it to {volume}, its volumeName",
    ClaimAction.PROVISIONING_FAILED: "cannot provision a volume for it",
    ClaimAction.LOST: "marks it as lost",
    ClaimAction.UNKNOWN: "does what depends on kinds that cannot be listed by this user",
}


def _claim_summary(found: ClaimOverview, nodes: Sequence[NodeVolumesData], verdicts: Sequence[ClaimVerdict]) -> str:
    name, outcome = claim_key(found.claim), found.outcome
    match outcome.action:
        case ClaimAction.KEEP | ClaimAction.BIND:
            verb = "is bound" if outcome.action is ClaimAction.KEEP else "will be bound"
            start = f"{name} {verb} to {outcome.volume}"
        case (
            ClaimAction.LOST
            | ClaimAction.FAILED_BINDING
            | ClaimAction.VOLUME_MISMATCH
            | ClaimAction.PROVISIONING_FAILED
        ):
            return f"{name} has no volume: {outcome.message}"
        case ClaimAction.UNKNOWN:
            volume = f"names volume {outcome.volume}" if outcome.volume else "is not bound"
            return f"{name} {volume}; what becomes of it depends on kinds that cannot be listed by this user."
        case _:
            start = f"{name} is not bound; the PersistentVolume controller {_controller_summary(outcome)}"
    if ClaimVerdict.IMMEDIATE in verdicts:
        return f"{start}. Its pods stay pending until then."
    if not verdicts:
        return f"{start}."
    usable = [node for node, verdict in zip(nodes, verdicts, strict=True) if verdict.usable]
    return f"{start}. A pod with it can run on {_share(usable, nodes) if usable else 'no node'}."


def _share(usable: Sequence[NodeVolumesData], nodes: Sequence[NodeVolumesData]) -> str:
    """Return the number of usable nodes as text, with their zones if not all zones have one; at least one is usable."""
    zones = sorted({node.zone for node in usable})
    tied = all(zones) and len(zones) < len({node.zone for node in nodes})
    within = f", only in zone {listed(zones, 'or')}" if tied else ""
    return f"{len(usable)} of {counted(len(nodes), 'node')}{within}"


def _pod_summary(found: PodOverview, claims: tuple[ClaimData, ...], nodes: tuple[NodeVolumesData, ...]) -> str:
    name = found.pod.key
    if found.problem:
        return f"{name} is not scheduled: {found.problem}."
    if not claims:
        return f"{name} uses no claims: its volumes do not restrict its nodes."
    waiting = list(dict.fromkeys(c.claim for n in nodes for c in n.claims if c.verdict is ClaimVerdict.IMMEDIATE))
    if waiting:
        return f"{name} is pending until the PersistentVolume controller binds {listed(waiting)}."
    usable = [node for node in nodes if node.usable]
    allow = "claim allows" if len(claims) == 1 else f"{len(claims)} claims allow"
    if found.conflict:
        text = f"{name} can run on no node: {_conflict(found, claims)}."
        if usable:
            text += f" Its {allow} {_share(usable, nodes)}; its node selection allows none of these."
        return text
    text = f"{name}: its {allow} {_share(usable, nodes)}."
    if found.selected_zones:
        text += f" Its node selection requires zone {listed(found.selected_zones, 'or')}."
    return text


def _conflict(found: PodOverview, claims: tuple[ClaimData, ...]) -> str:
    """Return the ties of the pod by its claims and its node selection, as text."""
    ties = [f"claim {claim.name} requires zone {listed(claim.zones, 'or')}" for claim in claims if claim.zones]
    ties += [f"claim {claim.name} can be used on no node" for claim in claims if not claim.usable]
    if found.selected_zones:
        ties.append(f"its node selection requires zone {listed(found.selected_zones, 'or')}")
    return ", ".join(ties) or "its node selection and its claims allow no node"

"""Our answers beside kube-scheduler's as data: what ``verify -o json`` prints and its text is made of.

The form is part of the public interface. ``schema/verify.json`` describes it and is made from these types.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.report.explain.data import API_VERSION, Data, RulesData, SnapshotData, StatusData
from kschedctl.report.provenance import Provenance, rules_data, snapshot_data, warnings
from kschedctl.scheduler.verify import Outcome, Verification


class PendingCountsData(Data, frozen=True):
    """How many pending pods there are of each kind."""

    equal: Annotated[int, Meta(description="Our message is the stored one.")]
    different: Annotated[int, Meta(description="It is another.")]
    not_tried: Annotated[int, Meta(description="No message is stored.")]
    other_scheduler: Annotated[int, Meta(description="They name a scheduler that the configuration does not have.")]


class BoundCountsData(Data, frozen=True):
    """How many pods on nodes there are of each kind."""

    feasible: Annotated[int, Meta(description="They would still fit on their node.")]
    infeasible: Annotated[int, Meta(description="They would not.")]
    other_scheduler: Annotated[int, Meta(description="They name a scheduler that the configuration does not have.")]
    static: Annotated[int, Meta(description="Kubelets made them without a scheduler.")]
    lost: Annotated[int, Meta(description="The snapshot does not have their node.")]


class PendingPodData(Data, frozen=True):
    """A pending pod."""

    namespace: str
    name: str
    scheduler_name: str
    outcome: Outcome
    theirs: Annotated[str, Meta(description="What kube-scheduler stored in the condition PodScheduled.")]
    ours: Annotated[str, Meta(description="What we say; empty where another scheduler is responsible.")]
    causes: Annotated[tuple[str, ...], Meta(description="Why they may differ, the likeliest first.")]


class InfeasiblePodData(Data, frozen=True):
    """A pod that would not fit on its node any more."""

    namespace: str
    name: str
    node: str
    status: Annotated[StatusData, Meta(description="What kube-scheduler would stop at.")]
    causes: Annotated[tuple[str, ...], Meta(description="Why that may be, the likeliest first.")]


class VerificationData(Data, frozen=True, kw_only=True):
    """All answers of a snapshot compared with what kube-scheduler did."""

    api_version: Literal["kschedctl/v1"] = API_VERSION
    kind: Literal["Verification"] = "Verification"
    equal: Annotated[bool, Meta(description="Whether there is no difference.")]
    summary: Annotated[str, Meta(description="One or two sentences.")]
    rules: RulesData
    snapshot: SnapshotData
    pending: PendingCountsData
    bound: BoundCountsData
    pending_pods: tuple[PendingPodData, ...]
    infeasible_pods: tuple[InfeasiblePodData, ...]
    warnings: tuple[str, ...]


def verification_data(found: Verification, cluster: Cluster, provenance: Provenance) -> VerificationData:
    """Put a comparison into data.

    Parameters
    ----------
    found : Verification
        The comparison.
    cluster : Cluster
        What was compared over.
    provenance : Provenance
        What it rests on.
    """
    outcomes = [each.outcome for each in found.pending]
    pending = PendingCountsData(
        outcomes.count(Outcome.EQUAL),
        outcomes.count(Outcome.DIFFERENT),
        outcomes.count(Outcome.NOT_TRIED),
        outcomes.count(Outcome.OTHER_SCHEDULER),
    )
    bound = BoundCountsData(
        found.bound.n_feasible,
        len(found.misplaced),
        len(found.bound.others),
        len(found.bound.mirrored),
        len(found.bound.lost),
    )
    records = cluster.pods.records
    return VerificationData(
        equal=found.equal,
        summary=_summary(pending, bound),
        rules=rules_data(provenance.release_choice),
        snapshot=snapshot_data(cluster, provenance),
        pending=pending,
        bound=bound,
        pending_pods=tuple(
            PendingPodData(
                records[each.pod].metadata.namespace,
                records[each.pod].metadata.name,
                records[each.pod].spec.scheduler_name,
                each.outcome,
                each.theirs,
                each.ours,
                each.causes,
            )
            for each in found.pending
        ),
        infeasible_pods=tuple(
            InfeasiblePodData(
                records[each.found.pod].metadata.namespace,
                records[each.found.pod].metadata.name,
                records[each.found.pod].node_name,
                StatusData(str(each.found.status.code), each.found.status.plugin, each.found.status.reasons),
                each.causes,
            )
            for each in found.misplaced
        ),
        warnings=warnings(provenance),
    )


def _summary(pending: PendingCountsData, bound: BoundCountsData) -> str:
    compared = pending.equal + pending.different + bound.feasible + bound.infeasible
    if not compared:
        return "There is nothing to compare: no pod runs on a node or has a message of kube-scheduler's."
    differences = pending.different + bound.infeasible
    if not differences:
        kept = f"{counted(pending.equal, 'pending pod')} with kube-scheduler's own message"
        return f"No difference: {kept}, {counted(bound.feasible, 'running pod')} that would still fit."
    parts = []
    if pending.different:
        parts.append(f"{counted(pending.different, 'pending pod')} of {pending.equal + pending.different}")
    if bound.infeasible:
        parts.append(f"{counted(bound.infeasible, 'running pod')} of {bound.feasible + bound.infeasible}")
    return f"{counted(differences, 'difference')} to what kube-scheduler did: {' and '.join(parts)}."


def schema() -> dict[str, Any]:
    """The JSON Schema of what ``verify -o json`` prints."""
    (one,), parts = msgspec.json.schema_components((VerificationData,), ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kschedctl verify -o json",
        "description": "All answers of a snapshot compared with what kube-scheduler did.",
        **one,
        "$defs": parts,
    }

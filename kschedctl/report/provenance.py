"""What an answer rests on: whose rules, which snapshot, and what to be careful about."""

from __future__ import annotations

from dataclasses import dataclass

from kschedctl.admission.chain import Admitted
from kschedctl.cluster.cluster import Cluster
from kschedctl.releases.choice import ReleaseChoice
from kschedctl.report.explain.data import (
    AdmissionData,
    ChangeData,
    MissingData,
    QuotaRefusalData,
    RulesData,
    SnapshotData,
)
from kschedctl.scheduler.missing import Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What an answer rests on.

    Attributes
    ----------
    release_choice : ReleaseChoice
        Whose rules, and why.
    paths : tuple of str
        What the snapshot was read from.
    n_pods : int
        How many pods the snapshot has.
    node_name : str
        Where the pod runs in the snapshot; empty where it does not.
    missing : tuple of Missing
        What the snapshot lacks for this pod.
    warnings : tuple of str
        What else to be careful about.
    seed : int or None
        Picks one of the nodes that chance decides among.
    changes : tuple of str
        What of the snapshot was changed to see what then.
    admitted : Admitted or None
        What admission did to the pod.
    """

    release_choice: ReleaseChoice
    paths: tuple[str, ...]
    n_pods: int
    node_name: str = ""
    missing: tuple[Missing, ...] = ()
    warnings: tuple[str, ...] = ()
    seed: int | None = None
    changes: tuple[str, ...] = ()
    admitted: Admitted | None = None


def rules_data(choice: ReleaseChoice) -> RulesData:
    """Whose rules were applied, as data."""
    return RulesData(
        kubernetes_version=choice.release.version,
        chosen_by=choice.chosen_by,
        why=choice.why,
        cluster_version=choice.cluster_version,
        feature_gates=dict(sorted(choice.release.features.items())),
    )


def snapshot_data(cluster: Cluster, provenance: Provenance) -> SnapshotData:
    """What was decided over, as data."""
    return SnapshotData(
        paths=provenance.paths,
        nodes=len(cluster.nodes),
        pods=provenance.n_pods,
        written_at=cluster.taken_at,
        changes=provenance.changes,
    )


def warnings(provenance: Provenance) -> tuple[str, ...]:
    """What to be careful about."""
    return tuple(warning for warning in (provenance.release_choice.warning, *provenance.warnings) if warning)


def admission_data(provenance: Provenance) -> AdmissionData:
    """What admission did, as data."""
    admitted = provenance.admitted
    if admitted is None:
        return AdmissionData()
    return AdmissionData(
        tuple(ChangeData(change.plugin, change.path, change.before, change.after) for change in admitted.changes),
        tuple(
            QuotaRefusalData(
                refusal.quota,
                refusal.message,
                *({k: str(v) for k, v in of.items()} for of in (refusal.requested, refusal.used, refusal.limited)),
            )
            for refusal in admitted.quota_refusals
        ),
    )


def missing_data(provenance: Provenance) -> tuple[MissingData, ...]:
    """What the snapshot lacks, as data."""
    return tuple(MissingData(m.kind, m.needed_for, m.effect) for m in provenance.missing)

"""What an answer about a loaded cluster rests on."""

from __future__ import annotations

from kschedctl.face import SchedulingCluster
from kschedctl.report.envelope import Provenance
from kschedctl.scheduler.missing import Missing


def provenance(cluster: SchedulingCluster, missing: tuple[Missing, ...] = ()) -> Provenance:
    """What an answer rests on.

    Parameters
    ----------
    cluster : SchedulingCluster
        The cluster.
    missing : tuple of Missing
        What it lacks for the answer.
    """
    return Provenance(
        release_choice=cluster.release_choice,
        paths=cluster.snapshot.paths,
        n_pods=len(cluster.pods),
        missing=missing,
        warnings=(*cluster.cluster.warnings, *cluster.configuration.warnings),
        changes=cluster.snapshot.changes,
    )

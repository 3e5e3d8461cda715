"""What an answer about a loaded cluster rests on."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.api.pod import Pod
from kschedctl.api.wording import listed
from kschedctl.face import SchedulingCluster
from kschedctl.report.envelope import Provenance
from kschedctl.scheduler.missing import Missing, not_read


def provenance(
    cluster: SchedulingCluster, missing: tuple[Missing, ...] = (), *, pod: Pod | None = None, many: bool = False
) -> Provenance:
    """What an answer rests on.

    Parameters
    ----------
    missing : tuple of Missing
        What it lacks for the answer, besides what was not read.
    pod : Pod, optional
        The pod that is asked about: what-ifs that change nothing in it are told.
    many : bool
        Whether many pods go through the queue, so that its feature gates count.
    """
    idle = cluster.idle_edits(pod) if pod is not None else ()
    # What is missing is said there, with what that means; it is no warning besides.
    said = set(map(str, missing))
    read = [warning for warning in cluster.cluster.warnings if warning not in said]
    # Kinds that may not be listed and that the answer depends on are missing; the others do not matter to it.
    harmless = set(cluster.cluster.not_listed.values())
    told = (f"what if: {edit} changes nothing in {pod.key}" for edit in idle if pod is not None)
    return Provenance(
        release_choice=cluster.release_choice,
        paths=cluster.snapshot.paths,
        n_pods=len(cluster.pods),
        missing=tuple(dict.fromkeys((*not_read(cluster.cluster), *missing))),
        doubts=tuple(warning for warning in read if warning not in harmless),
        warnings=(
            *(warning for warning in read if warning in harmless),
            *_idle_gates(cluster, many=many),
            *cluster.configuration.warnings,
            *told,
        ),
        changes=cluster.snapshot.changes,
    )


def _idle_gates(cluster: SchedulingCluster, *, many: bool) -> Iterator[str]:
    release = cluster.release_choice.release
    gates = [gate for gate in release.idle_gates if not (many and gate in release.queue_gates)]
    if gates:
        what = "feature gate" if len(gates) == 1 else "feature gates"
        verb = "has" if len(gates) == 1 else "have"
        yield f"{what} {listed(gates)} {verb} no effect on the answer"

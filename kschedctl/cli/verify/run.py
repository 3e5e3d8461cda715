"""What ``verify`` does once its options are read: compare, print."""

from __future__ import annotations

from datetime import UTC, datetime

from kschedctl.cli.output import Form, OutputForm
from kschedctl.cli.streams import write
from kschedctl.cli.terminal import captured, open_console
from kschedctl.face import SchedulingCluster
from kschedctl.report.provenance import Provenance
from kschedctl.report.verify.data import VerificationData, verification_data
from kschedctl.report.verify.text import print_verification
from kschedctl.scheduler.verify import Outcome


def print_comparison(cluster: SchedulingCluster, form: OutputForm, *, no_color: bool) -> bool:
    """Compare and print.

    Parameters
    ----------
    cluster : SchedulingCluster
        The cluster.
    form : OutputForm
        How it is printed.
    no_color : bool
        Whether colours are left out.

    Returns
    -------
    bool
        Whether there is no difference.
    """
    provenance = Provenance(
        release_choice=cluster.release_choice,
        paths=cluster.snapshot.paths,
        n_pods=len(cluster.pods),
        warnings=(*cluster.cluster.warnings, *cluster.configuration.warnings),
    )
    found = verification_data(cluster.verify(), cluster.cluster, provenance)
    if not form.is_text:
        write(form.render(found, _names(found)))
        return found.equal
    wide = form.form is Form.WIDE
    console = open_console(no_color=no_color)
    write(captured(console, lambda console: print_verification(console, found, datetime.now(UTC), wide=wide)))
    return found.equal


def _names(found: VerificationData) -> str:
    """The pods that differ, a line each."""
    names = [(pod.namespace, pod.name) for pod in found.pending_pods if pod.outcome is Outcome.DIFFERENT]
    names += [(pod.namespace, pod.name) for pod in found.infeasible_pods]
    return "".join(f"pod/{namespace}/{name}\n" for namespace, name in names)

"""``kschedctl diff``: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.diff.options import AgainstOptions, ExitOn
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.pods import PodOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.report.render.form import Reply


@command
def diff(
    *,
    which: PodOptions,
    all_pods: Annotated[
        bool, typer.Option("--all-pods", help="Running pods too, each as if it were scheduled anew.")
    ] = False,
    cluster: DecidingOptions,
    against: AgainstOptions,
    what_ifs: WhatIfOptions,
    exit_on: Annotated[
        ExitOn,
        typer.Option(
            "--exit-on",
            help="Exit with 1 where anything changes but scores, or only where a pod loses its node and gets none.",
        ),
    ] = ExitOn.ANY,
    output: OutputOptions,
) -> Reply:
    """Say which nodes, scores, winners, victims and messages change for pods.

    What is compared is the cluster as it is with --against, --against-config, --against-version and the what-ifs; what
    is not given is the same on both sides. Without a POD and -f, the pending pods are compared, with --all-pods the
    running ones too: of namespace default, of -n, or with -A of all; with -l all pods with those labels. Pods that lose
    their node are placed one after another, the most important first; each other pod is decided for by itself.

    The exit code is 0 where nothing changes but scores, 1 where something does and 2 for bad input; with
    --exit-on worse it is 1 only where a pod loses its node, or would have got one, and gets none.
    """
    if not (against.given or what_ifs.given):
        raise typer.BadParameter(
            "nothing to compare with is given: give another snapshot, --against-config, --against-version, "
            "--against-feature-gates or a what-if such as --cordon",
            param_hint="--against",
        )
    before = cluster.chosen(admission=not which.no_admission)
    after = against.beside(before, what_ifs)

    from kschedctl.cli.diff.run import DiffReply
    from kschedctl.cli.selection import PodSelection

    return DiffReply(PodSelection(which, before), after, all_pods=all_pods, exit_on=exit_on)

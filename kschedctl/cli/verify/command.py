"""``kschedctl verify``: its options."""

from __future__ import annotations

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.whatif import ClusterWhatIfOptions
from kschedctl.report.render.form import Reply


@command
def verify(*, cluster: ClusterOptions, what_ifs: ClusterWhatIfOptions, output: OutputOptions) -> Reply:
    """Compare all answers with what kube-scheduler did, and say why they may differ.

    For every pending pod our message is compared with the one in its PodScheduled condition, and for every pod that
    runs it is asked whether it would still fit on its node. -o name prints the pods that differ.

    The exit code is 0 where nothing differs, 1 where something does.
    """
    chosen = cluster.chosen(what_ifs)

    from kschedctl.cli.verify.run import VerifyReply

    return VerifyReply(chosen)

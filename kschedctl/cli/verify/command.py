"""``kschedctl verify``: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.whatif import ClusterWhatIfOptions
from kschedctl.report.render.form import Reply


@command
def verify(
    *,
    record: Annotated[
        str,
        typer.Option(
            "--record",
            metavar="FILE",
            help="Write a pod that differs as a case to hand in: with what bears on its answer, under pseudonyms.",
            show_default=False,
        ),
    ] = "",
    pod: Annotated[
        str,
        typer.Option(
            "--pod",
            metavar="NAMESPACE/NAME",
            help="With --record: which pod. Default: the first that differs.",
            show_default=False,
        ),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="With --record: replace a file that is there.")] = False,
    cluster: DecidingOptions,
    what_ifs: ClusterWhatIfOptions,
    output: OutputOptions,
) -> Reply:
    """Compare all answers with what kube-scheduler did, and say why they may differ.

    For every pending pod our message is compared with the one in its PodScheduled condition, and for every pod that
    runs it is asked whether it would still fit on its node. -o name prints the pods that differ.

    kube-scheduler evicts no running pod for what it would say today, so what a change since can explain is no
    difference: a cordoned node never is one; taints, labels, affinity, spreading, resources, volumes and claims are
    listed with the likely cause. What no change explains is one: a message that differs, two pods with one host port or
    exclusive disk, a pod whose affinity names another node, a refusal by a plugin that is not in-tree. Running pods
    that fit without the what-ifs are no difference either.

    A case of --record is one line of JSON in the form that batch takes: {"id", "objects", "pod", "config"}, and what
    kube-scheduler said as "theirs". Names are pseudonyms; read it before you hand it in.

    The exit code is 0 where nothing differs, 1 where something does.
    """
    for given, flag in ((pod, "--pod"), (force, "--force")):
        if given and not record:
            raise typer.BadParameter("goes with --record FILE", param_hint=flag)
    chosen = cluster.chosen(what_ifs)

    from kschedctl.cli.verify.record import Wanted
    from kschedctl.cli.verify.run import VerifyReply

    return VerifyReply(chosen, Wanted(record, pod, force=force) if record else None)

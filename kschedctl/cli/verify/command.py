"""``kschedctl verify``: our answers beside what kube-scheduler did."""

from __future__ import annotations

import typer

from kschedctl.cli.exit_code import ExitCode
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.declared import (
    ConfigOption,
    ContextOption,
    GatesOption,
    KubeconfigOption,
    NoColorOption,
    OutputOption,
    SnapshotOption,
    VersionOption,
)


def verify(
    snapshot: SnapshotOption = None,
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
    config: ConfigOption = "",
    kubernetes_version: VersionOption = "",
    gates: GatesOption = None,
    output: OutputOption = "",
    no_color: NoColorOption = False,
) -> None:
    """Compare all answers with what kube-scheduler did, and say why they may differ.

    For every pending pod our message is compared with the one in its PodScheduled condition, and for every pod that
    runs it is asked whether it would still fit on its node. -o name prints the pods that differ.

    The exit code is 0 where nothing differs, 1 where something does.
    """
    from kschedctl.cli.output import OutputForm

    form = OutputForm.parse(output)
    options = ClusterOptions.read(snapshot, config, kubernetes_version, gates, context=context, kubeconfig=kubeconfig)

    from kschedctl.cli.verify.run import print_comparison

    if not print_comparison(options.load(), form, no_color=no_color):
        raise typer.Exit(ExitCode.NO)

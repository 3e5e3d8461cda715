"""``kschedctl diff``: what changes for pods between two snapshots, releases, configurations, or by a what-if."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli.exit_code import ExitCode
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.declared import (
    AllNamespacesOption,
    ConfigOption,
    ContextOption,
    FilenameOption,
    GatesOption,
    KubeconfigOption,
    NamespaceOption,
    NoAdmissionOption,
    NoColorOption,
    OutputOption,
    PodsArgument,
    SelectorOption,
    SnapshotOption,
    VersionOption,
    config_file,
)
from kschedctl.cli.whatif_options import WhatIfOptions, takes_what_ifs


@takes_what_ifs
def diff(
    *,
    pods: PodsArgument = None,
    snapshot: SnapshotOption = None,
    against: Annotated[
        list[str] | None,
        typer.Option("--against", metavar="PATH", help="The other snapshot. Repeatable.", show_default=False),
    ] = None,
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
    filename: FilenameOption = None,
    namespace: NamespaceOption = "",
    all_namespaces: AllNamespacesOption = False,
    selector: SelectorOption = "",
    all_pods: Annotated[
        bool, typer.Option("--all-pods", help="Running pods too, each as if it were scheduled anew.")
    ] = False,
    config: ConfigOption = "",
    against_config: Annotated[
        str,
        typer.Option(
            "--against-config",
            metavar="FILE",
            help="The other KubeSchedulerConfiguration.",
            show_default=False,
            callback=config_file,
        ),
    ] = "",
    kubernetes_version: VersionOption = "",
    against_version: Annotated[
        str,
        typer.Option(
            "--against-version", metavar="1.34|1.35|1.36", help="The release to compare with.", show_default=False
        ),
    ] = "",
    gates: GatesOption = None,
    against_gates: Annotated[
        list[str] | None,
        typer.Option(
            "--against-feature-gates",
            metavar="NAME=true,...",
            help="The other feature gates. Default: the same.",
            show_default=False,
        ),
    ] = None,
    no_admission: NoAdmissionOption = False,
    output: OutputOption = "",
    no_color: NoColorOption = False,
    what_ifs: WhatIfOptions,
) -> None:
    """Say which nodes, scores, winners, victims and messages change for pods.

    What is compared is the cluster as it is with --against, --against-config, --against-version and the what-ifs; what
    is not given is the same on both sides. Without a POD, -f and -l, all pending pods are compared, with -n those of a
    namespace, with --all-pods the running ones too. Each is decided for by itself: that others wait as well does not
    count.

    The exit code is 0 where nothing changes, 1 where something does and 2 for bad input.
    """
    from kschedctl.cli.output import OutputForm

    form = OutputForm.parse(output)
    if not (against or against_config or against_version or against_gates or what_ifs.given):
        raise typer.BadParameter(
            "nothing to compare with is given: give another snapshot, --against-config, --against-version, "
            "--against-feature-gates or a what-if such as --cordon",
            param_hint="--against",
        )
    before = ClusterOptions.read(
        snapshot,
        config,
        kubernetes_version,
        gates,
        context=context,
        kubeconfig=kubeconfig,
        admission=not no_admission,
    )

    from kschedctl.cli.asking import PodOptions
    from kschedctl.cli.diff.run import Differing, DiffOptions
    from kschedctl.cli.diff.side import other_side

    options = DiffOptions(
        which=PodOptions(
            cluster=before,
            pods=tuple(pods or ()),
            filenames=tuple(filename or ()),
            namespace=namespace,
            all_namespaces=all_namespaces,
            selector=selector,
        ),
        after=other_side(before, against, against_config, against_version, against_gates, what_ifs),
        all_pods=all_pods,
        no_color=no_color,
    )
    if Differing(options, form).run():
        raise typer.Exit(ExitCode.NO)

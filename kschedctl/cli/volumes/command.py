"""``kschedctl volumes``: which volumes claims have or would get, and where that ties their pods to."""

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
    NoColorOption,
    OutputOption,
    SnapshotOption,
    StrictOption,
    VersionOption,
)
from kschedctl.cli.whatif_options import WhatIfOptions, takes_what_ifs


@takes_what_ifs
def volumes(
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLAIM|POD",
            help="NAMESPACE/NAME, pvc/NAME, pod/NAME or NAME in the snapshot, a manifest, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    snapshot: SnapshotOption = None,
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
    filename: FilenameOption = None,
    namespace: NamespaceOption = "",
    all_namespaces: AllNamespacesOption = False,
    config: ConfigOption = "",
    kubernetes_version: VersionOption = "",
    gates: GatesOption = None,
    output: OutputOption = "",
    no_color: NoColorOption = False,
    strict: StrictOption = False,
    what_ifs: WhatIfOptions,
) -> None:
    """Say which volume a claim has or would get, why no other, and from which nodes it can be used.

    Of a pod all claims are looked at together: where they leave it room. Without an argument all claims are listed: of
    namespace default, of -n, or with -A of all.

    The exit code is 1 where a claim can have no volume, or a pod's claims leave it no node.
    """
    from kschedctl.cli.output import OutputForm

    form = OutputForm.parse(output)
    cluster = ClusterOptions.read(
        snapshot, config, kubernetes_version, gates, context=context, kubeconfig=kubeconfig, what_ifs=what_ifs
    )

    from kschedctl.cli.volumes.run import Inspecting, VolumesOptions
    from kschedctl.cli.volumes.subjects import SubjectOptions

    options = VolumesOptions(
        which=SubjectOptions(
            cluster=cluster,
            names=tuple(names or ()),
            filenames=tuple(filename or ()),
            namespace=namespace,
            all_namespaces=all_namespaces,
        ),
        no_color=no_color,
    )
    complete, usable = Inspecting(options, form).run()
    if strict and not complete:
        raise typer.Exit(ExitCode.INCOMPLETE)
    if not usable:
        raise typer.Exit(ExitCode.NO)

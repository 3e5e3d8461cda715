"""``kschedctl explain``: where a pod goes, or why it cannot."""

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
    SeedOption,
    SelectorOption,
    SnapshotOption,
    StrictOption,
    VersionOption,
)
from kschedctl.cli.whatif_options import WhatIfOptions, takes_what_ifs


@takes_what_ifs
def explain(
    *,
    pods: PodsArgument = None,
    snapshot: SnapshotOption = None,
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
    filename: FilenameOption = None,
    namespace: NamespaceOption = "",
    all_namespaces: AllNamespacesOption = False,
    selector: SelectorOption = "",
    config: ConfigOption = "",
    kubernetes_version: VersionOption = "",
    gates: GatesOption = None,
    node: Annotated[
        list[str] | None, typer.Option("--node", metavar="NAME", help="Show this node alone. Repeatable.")
    ] = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="Show nodes one by one, not in groups.")] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Show raw and normalised scores, and with --node every filter.")
    ] = False,
    show_admission: Annotated[
        bool, typer.Option("--show-admission", help="Show what an API server changes in the pod when it takes it.")
    ] = False,
    no_admission: NoAdmissionOption = False,
    output: OutputOption = "",
    no_color: NoColorOption = False,
    strict: StrictOption = False,
    seed: SeedOption = None,
    what_ifs: WhatIfOptions,
) -> None:
    """Say where kube-scheduler would put a pod, or why it cannot, node by node.

    Without a POD and -f, the pending pods are answered for: of namespace default, of -n, or with -A of all; with -l
    all pods with those labels.

    With -o name a node that the pod can go to is a line, node/NODE, and of several pods pod/NAMESPACE/NAME node/NODE.
    """
    from kschedctl.cli.output import OutputForm

    form = OutputForm.parse(output)
    if show_admission and no_admission:
        raise typer.BadParameter(
            "--no-admission is given as well: give one or the other", param_hint="--show-admission"
        )
    cluster = ClusterOptions.read(
        snapshot,
        config,
        kubernetes_version,
        gates,
        context=context,
        kubeconfig=kubeconfig,
        what_ifs=what_ifs,
        admission=not no_admission,
    )

    from kschedctl.cli.asking import PodOptions
    from kschedctl.cli.explain.run import Answering, ExplainOptions

    options = ExplainOptions(
        which=PodOptions(
            cluster=cluster,
            pods=tuple(pods or ()),
            filenames=tuple(filename or ()),
            namespace=namespace,
            all_namespaces=all_namespaces,
            selector=selector,
        ),
        nodes=tuple(node or ()),
        every_node=nodes,
        why=why,
        admission=show_admission,
        no_color=no_color,
        seed=seed,
    )
    complete, schedulable = Answering(options, form).run()
    if strict and not complete:
        raise typer.Exit(ExitCode.INCOMPLETE)
    if not schedulable:
        raise typer.Exit(ExitCode.NO)

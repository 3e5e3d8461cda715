"""``kschedctl preempt``: who would be evicted for a pod, and why them."""

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
def preempt(
    *,
    pods: PodsArgument = None,
    snapshot: SnapshotOption = None,
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
    filename: FilenameOption = None,
    namespace: NamespaceOption = "",
    all_namespaces: AllNamespacesOption = False,
    selector: SelectorOption = "",
    victim: Annotated[
        str,
        typer.Option(
            "--victim",
            metavar="NAMESPACE/NAME",
            help="The reverse: which pending pods would evict this one.",
            show_default=False,
        ),
    ] = "",
    config: ConfigOption = "",
    kubernetes_version: VersionOption = "",
    gates: GatesOption = None,
    min_candidate_nodes: Annotated[
        int | None,
        typer.Option(
            "--min-candidate-nodes",
            metavar="N",
            min=1,
            help="Stop at so many candidates, as kube-scheduler does in large clusters. Default: look at all nodes.",
            show_default=False,
        ),
    ] = None,
    offset: Annotated[
        int,
        typer.Option("--offset", metavar="K", min=0, help="Begin at this node; kube-scheduler begins at a random one."),
    ] = 0,
    fail_on_pdb_violation: Annotated[
        bool, typer.Option("--fail-on-pdb-violation", help="Exit with 1 where a disruption budget would be violated.")
    ] = False,
    no_admission: NoAdmissionOption = False,
    output: OutputOption = "",
    no_color: NoColorOption = False,
    strict: StrictOption = False,
    seed: SeedOption = None,
    what_ifs: WhatIfOptions,
) -> None:
    """Say whom kube-scheduler would evict to make room for a pod, on which node, and why them.

    Without a POD, -f and -l, all pending pods are answered for, each against the snapshot as it is, highest priority
    first; with -n those of a namespace. -o name prints the victims.

    The exit code is 0 where the pod fits or can be helped so, with --victim where nobody would evict that pod.
    """
    from kschedctl.cli.output import OutputForm

    form = OutputForm.parse(output)
    if offset and min_candidate_nodes is None:
        raise typer.BadParameter("only with --min-candidate-nodes", param_hint="--offset")
    if victim and (pods or filename or selector):
        raise typer.BadParameter("asks about one pod alone: leave PODs, -f and -l out", param_hint="--victim")
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
    from kschedctl.cli.preempt.run import Preempting, PreemptOptions

    options = PreemptOptions(
        which=PodOptions(
            cluster=cluster,
            pods=tuple(pods or ()),
            filenames=tuple(filename or ()),
            namespace=namespace,
            all_namespaces=all_namespaces,
            selector=selector,
        ),
        min_candidate_nodes=min_candidate_nodes,
        offset=offset,
        no_color=no_color,
        seed=seed,
    )
    run = Preempting(options, form)
    outcome = run.threat(victim) if victim else run.run()
    if strict and not outcome.complete:
        raise typer.Exit(ExitCode.INCOMPLETE)
    if not outcome.helped or (fail_on_pdb_violation and outcome.violates_budget):
        raise typer.Exit(ExitCode.NO)

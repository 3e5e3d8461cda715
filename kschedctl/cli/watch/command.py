"""``kschedctl watch``: its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from kschedctl.cli.leader.election_options import TimeOptions
from kschedctl.cli.options.group import OptionGroup, unfolded
from kschedctl.cli.options.shared import (
    AllNamespacesOption,
    ConfigOption,
    ContextOption,
    GatesOption,
    IdentityOption,
    KubeconfigOption,
    NamespaceOption,
    SelectorOption,
    VersionOption,
    feature_gates,
    request_seconds,
)

_JSON_LINES = "jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchScopeOptions(OptionGroup):
    """Which pods are meant of those that wait."""

    title: ClassVar[str] = "Which pods"

    namespace: NamespaceOption = ""
    all_namespaces: AllNamespacesOption = False
    selector: SelectorOption = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedClusterOptions(OptionGroup):
    """Which cluster is watched, and whose rules apply to it."""

    title: ClassVar[str] = "Which cluster"

    context: ContextOption = ""
    kubeconfig: KubeconfigOption = ""
    request_timeout: Annotated[
        str,
        typer.Option(
            "--request-timeout",
            metavar="TIME",
            help="How long a page of a list may take, such as 30s or 2m; 0 for any time. Default: 1m.",
            show_default=False,
        ),
    ] = ""
    config: ConfigOption = ""
    kubernetes_version: VersionOption = ""
    gates: GatesOption = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralCopiesOptions(OptionGroup):
    """Who of several copies says something."""

    title: ClassVar[str] = "Several copies"

    leader_elect: Annotated[
        bool,
        typer.Option("--leader-elect", help="Say something only while holding a Lease, which is made and renewed."),
    ] = False
    lease: Annotated[
        str,
        typer.Option(
            "--lease",
            metavar="NAMESPACE/NAME",
            help="The Lease. Default: kschedctl-watch in the namespace of the context, or of the pod.",
            show_default=False,
        ),
    ] = ""
    identity: IdentityOption = ""


@unfolded
def watch(
    *,
    scope: WatchScopeOptions,
    cluster: WatchedClusterOptions,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar=_JSON_LINES, help="jsonl: an object of JSON per line.", show_default=False
        ),
    ] = "",
    events: Annotated[
        bool,
        typer.Option(
            "--events",
            help="Write each answer as an Event on its pod. Without this and --leader-elect nothing is written.",
        ),
    ] = False,
    metrics: Annotated[
        str,
        typer.Option(
            "--metrics",
            metavar="ADDRESS",
            help="Answer /metrics for Prometheus, /healthz and /readyz at an address, such as :8080.",
            show_default=False,
        ),
    ] = "",
    copies: SeveralCopiesOptions,
    times: TimeOptions,
) -> None:
    """Stay connected to a cluster and explain each pod that waits, once per change of its answer.

    An answer is what comes of the pod, kube-scheduler's message, and the nodes that preemption would make room on. A
    pod that kube-scheduler places at once is not told of; one that was told of is followed until it has a node or is
    gone. What the cluster does meanwhile is followed by watches, which are begun again where they break off.

    With --events this writes to the cluster: an Event on a pod for each answer, and nothing else. With --leader-elect
    it writes its Lease; of several copies one alone says and writes something, the others keep up with the cluster.

    It ends with exit code 0 on SIGTERM and Ctrl-C.
    """
    if output not in ("", _JSON_LINES):
        raise typer.BadParameter(f'"{output}" is no form of output here: {_JSON_LINES} is', param_hint="--output")
    for option, given in (("--lease", copies.lease), ("--identity", copies.identity), *times.given()):
        if given and not copies.leader_elect:
            raise typer.BadParameter("means nothing without --leader-elect", param_hint=option)
    seconds = request_seconds(cluster.request_timeout) if cluster.request_timeout else None
    gates = feature_gates(cluster.gates)

    from kschedctl.cli.watch.run import WatchOptions, run_watch

    run_watch(
        WatchOptions(
            namespace="" if scope.all_namespaces else scope.namespace,
            everywhere=scope.all_namespaces,
            selector=scope.selector,
            context=cluster.context,
            kubeconfig=cluster.kubeconfig,
            request_seconds=seconds,
            config=cluster.config,
            kubernetes_version=cluster.kubernetes_version,
            feature_gates=gates,
            json_lines=output == _JSON_LINES,
            events=events,
            metrics=metrics,
            leader_elect=copies.leader_elect,
            lease=copies.lease,
            identity=copies.identity,
            times=times,
        )
    )

"""``kschedctl watch``."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, ClassVar, Final

import typer

from kschedctl.cli.leader import TimeOptions
from kschedctl.cli.options.declared import OptionGroup, unfolded
from kschedctl.cli.options.shared import (
    AllNamespacesOption,
    AsGroupOption,
    AsOption,
    ConfigOption,
    ContextOption,
    GatesOption,
    IdentityOption,
    KubeconfigOption,
    NamespaceOption,
    SelectorOption,
    VersionOption,
    feature_gates,
    impersonated_groups,
    request_seconds,
)

_JSON_LINES: Final = "jsonl"
_ENDING: Final = (signal.SIGTERM, signal.SIGINT)


class WatchScopeOptions(OptionGroup):
    """The selection of pending pods."""

    title: ClassVar[str] = "Pods"

    namespace: NamespaceOption = ""
    all_namespaces: AllNamespacesOption = False
    selector: SelectorOption = ""


class WatchedClusterOptions(OptionGroup):
    """The cluster to watch, and the rules that apply to it."""

    title: ClassVar[str] = "Cluster"

    context: ContextOption = ""
    kubeconfig: KubeconfigOption = ""
    as_user: AsOption = ""
    as_groups: AsGroupOption = None
    request_timeout: Annotated[
        str,
        typer.Option(
            "--request-timeout",
            metavar="TIME",
            help="Time limit per page of a list request, such as 30s or 2m; 0 means no limit. Default: 1m.",
            show_default=False,
        ),
    ] = ""
    config: ConfigOption = ""
    kubernetes_version: VersionOption = ""
    gates: GatesOption = None


class SeveralCopiesOptions(OptionGroup):
    """The options for several replicas, of which only the leader reports."""

    title: ClassVar[str] = "Several replicas"

    leader_elect: Annotated[
        bool, typer.Option("--leader-elect", help="Report only while holding a Lease, which is created and renewed.")
    ] = False
    lease: Annotated[
        str,
        typer.Option(
            "--lease",
            metavar="NAMESPACE/NAME",
            help="Lease to use. Default: kschedctl-watch in the namespace of the context, or of the pod.",
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
            "--output",
            "-o",
            metavar=_JSON_LINES,
            help="Output format: jsonl prints one JSON object per line.",
            show_default=False,
        ),
    ] = "",
    events: Annotated[
        bool,
        typer.Option(
            "--events",
            help="Write each answer as an Event on its pod. Without --events and --leader-elect nothing is written.",
        ),
    ] = False,
    metrics: Annotated[
        str,
        typer.Option(
            "--metrics",
            metavar="ADDRESS",
            help="Serve /metrics for Prometheus, /healthz and /readyz at this address, such as :8080.",
            show_default=False,
        ),
    ] = "",
    copies: SeveralCopiesOptions,
    times: TimeOptions,
) -> None:
    """Watch a cluster and explain each pending pod, once per change of its answer.

    An answer has the outcome for the pod, kube-scheduler's message, and the nodes on which preemption would help. A pod
    that kube-scheduler schedules at once is not reported; a pod that was reported is followed until it has a node or is
    deleted. The pods of a gang are reported together. The cluster is followed by watch requests, which are restarted if
    they break off.

    With --events this writes to the cluster: an Event on a pod for each answer, and nothing else. With --leader-elect
    it writes its Lease; of several replicas only the leader reports and writes, and the others keep their state up to
    date.

    It exits with code 0 on SIGTERM and Ctrl-C.
    """
    if output not in ("", _JSON_LINES):
        raise typer.BadParameter(
            f'"{output}" is not an output format of this command: use {_JSON_LINES}', param_hint="--output"
        )
    for option, given in (("--lease", copies.lease), ("--identity", copies.identity), *times.given()):
        if given and not copies.leader_elect:
            raise typer.BadParameter("requires --leader-elect", param_hint=option)
    seconds = request_seconds(cluster.request_timeout) if cluster.request_timeout else None
    gates = feature_gates(cluster.gates)

    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.streams import say, tell, write
    from kschedctl.leaderelection.settings import ElectionSettings
    from kschedctl.output.data_forms import json_line
    from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
    from kschedctl.questions.watch.answer import OfWatch, WatchBegun
    from kschedctl.questions.watch.document import begun_lines, said_lines
    from kschedctl.watch.run import WatchRequest
    from kschedctl.watch.run import watch as watch_cluster

    request = WatchRequest(
        cluster=ClusterRequest(
            source=ClusterSource(
                context=cluster.context,
                kubeconfig=cluster.kubeconfig,
                as_user=cluster.as_user,
                as_groups=impersonated_groups(cluster.as_user, cluster.as_groups),
                request_seconds=seconds,
            ),
            config=cluster.config,
            kubernetes_version=cluster.kubernetes_version,
            feature_gates=gates,
        ),
        namespace=scope.namespace,
        all_namespaces=scope.all_namespaces,
        selector=scope.selector,
        events=events,
        metrics=metrics,
        election=times.laid_over(ElectionSettings()) if copies.leader_elect else None,
        lease=copies.lease,
        identity=copies.identity,
    )
    with _signals() as ended:
        for answers in watch_cluster(request, TerminalHandle(), ended, lambda text: say(f"kschedctl: {text}")):
            if output == _JSON_LINES:
                write("".join(map(json_line, answers)))
                continue
            begun = [line for each in answers if isinstance(each, WatchBegun) for line in begun_lines(each)]
            # The messages on standard error say what the other lines about the watch say.
            for line in (*begun, *said_lines([each for each in answers if not isinstance(each, OfWatch)])):
                tell(line)


class _EndedError(BaseException):
    """A signal that arrived before the watch started, or a second signal."""


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Make SIGTERM and SIGINT end the watch without an error; yield a function that reports whether one has arrived."""
    came: list[int] = []
    watching = False

    def on_signal(number: int, _: FrameType | None) -> None:
        came.append(number)
        if not watching or len(came) > 1:
            raise _EndedError

    def ended() -> bool:
        nonlocal watching
        watching = True
        return bool(came)

    previous = {number: signal.signal(number, on_signal) for number in _ENDING}
    try:
        yield ended
    except _EndedError:
        if len(came) > 1:
            # The second signal exits at once, without waiting for blocked work.
            os._exit(0)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)

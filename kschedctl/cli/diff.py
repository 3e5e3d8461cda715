"""``kschedctl diff``."""

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.declared import OptionGroup
from kschedctl.cli.options.pods import PodOptions
from kschedctl.cli.options.shared import OutputOptions, config_option, feature_gates, gates_option, version_option
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.objects.releases.names import RELEASE_NAMES

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.questions.cluster_request import ClusterRequest


class ExitOn(StrEnum):
    """The changes that set exit code 1."""

    OUTCOME = "outcome"
    ANY = "any"
    WORSE = "worse"


class AgainstOptions(OptionGroup):
    """The options of the second side; by default it has those of the first side."""

    title: ClassVar[str] = "Comparison"

    against: Annotated[
        list[str] | None,
        typer.Option("--against", metavar="PATH", help="The snapshot to compare with.", show_default=False),
    ] = None
    against_cluster: Annotated[
        str,
        typer.Option(
            "--against-cluster",
            metavar="NAME",
            help="Cluster to compare with, if a snapshot holds several. Default: without --against the same.",
            show_default=False,
        ),
    ] = ""
    against_config: Annotated[
        str, config_option("--against-config", "KubeSchedulerConfiguration file to compare with. Default: the same.")
    ] = ""
    against_version: Annotated[
        str, version_option("--against-version", "Kubernetes release to compare with. Default: the same.")
    ] = ""
    against_gates: Annotated[
        list[str] | None, gates_option("--against-feature-gates", "Feature gates to compare with. Default: the same.")
    ] = None

    def values(self) -> dict[str, object]:
        """Return the options, by name, that select the second side in other commands."""
        values = {
            "config": self.against_config,
            "kubernetes_version": self.against_version,
            "gates": self.against_gates,
            "snapshot": self.against,
            "cluster": self.against_cluster,
        }
        no_live = {"context": None, "kubeconfig": None, "request_timeout": None} if self.against else {}
        no_live |= {"cluster": None} if self.against and not self.against_cluster else {}
        return {**{name: value for name, value in values.items() if value}, **no_live}

    def request(self, first: "ClusterRequest", what_ifs: WhatIfOptions) -> "ClusterRequest":
        """Return the request of the second side.

        Args:
            what_ifs: The what-ifs to apply to the second side.

        Raises typer.BadParameter if a feature gate is invalid.
        """
        from kschedctl.questions.cluster_request import ClusterSource

        source = replace(first.source, cluster=self.against_cluster or first.source.cluster)
        if self.against:
            source = ClusterSource(
                paths=tuple(self.against),
                cluster=self.against_cluster,
                max_bytes=first.source.max_bytes,
                cache=first.source.cache,
            )
        return replace(
            first,
            source=source,
            config=self.against_config or first.config,
            kubernetes_version=self.against_version or first.kubernetes_version,
            feature_gates=feature_gates(self.against_gates) if self.against_gates else first.feature_gates,
            what_ifs=what_ifs.request(),
        )


#: The text between the two releases of ``--kubernetes-version FROM..TO``.
_RANGE: Final = ".."


def _releases(version: str, against: str) -> tuple[str, str]:
    """Return the releases of the first side and of the second one; empty for the default.

    Raises typer.BadParameter if a range of releases is malformed, or given together with ``--against-version``.
    """
    if _RANGE in against:
        raise typer.BadParameter(
            f"{against} is a range of releases: give it as --kubernetes-version", param_hint="--against-version"
        )
    if _RANGE not in version:
        return version, against
    first, _, second = version.partition(_RANGE)
    problem = ""
    if against:
        problem = "--against-version is given, too: give FROM..TO, or the release of one side in each option"
    elif not (first and second) or second.startswith(".") or _RANGE in second:
        problem = f"{version} is no range of releases: write FROM..TO, such as {'..'.join(RELEASE_NAMES[-2:])}"
    elif first.removeprefix("v") == second.removeprefix("v"):
        problem = f"both sides have the rules of {first}: name two releases"
    if problem:
        raise typer.BadParameter(problem, param_hint="--kubernetes-version")
    return first, second


@command
def diff(
    *,
    which: PodOptions,
    all_pods: Annotated[
        bool, typer.Option("--all-pods", help="Compare running pods too, each as if it were scheduled again.")
    ] = False,
    cluster: DecidingOptions,
    against: AgainstOptions,
    what_ifs: WhatIfOptions,
    exit_on: Annotated[
        ExitOn,
        typer.Option(
            "--exit-on",
            help="Changes that set exit code 1: another node, outcome or victim of a pod; any change except of scores, "
            "such as another reason; or only a pod that loses its node and gets none.",
        ),
    ] = ExitOn.OUTCOME,
    output: OutputOptions,
) -> "CommandResult":
    """Compare scheduling decisions: show which nodes, scores, chosen nodes, victims and messages change for pods.

    The first side is the cluster as it is. The second side has the snapshot, configuration and release given with
    --against, --against-config and --against-version, and the what-ifs; options that are not set are the same on
    both sides. --kubernetes-version FROM..TO gives the releases of both sides: 1.37..1.38. Where these differ, the
    rules behind each change are named: those whose old value brings the old answer back.
    Without POD and -f, the pending pods are compared, with --all-pods also the running ones; with -l all pods with
    matching labels. They are those of the current namespace of a running cluster, or of all namespaces of a
    snapshot; -n and -A name others. Pods that lose their node are scheduled one after another, highest priority
    first; each other pod is decided independently.

    Pods for which only reasons, scores or messages change are counted; -o wide and --exit-on any list them.

    The exit code is 0 if no pod changes its node, outcome or victims, 1 if one does, and 2 for bad input; with
    --exit-on any it is 1 if anything except scores changes, with --exit-on worse only if a pod loses its node, or would
    have got one, and gets none.
    """
    version, against_version = _releases(cluster.kubernetes_version, against.against_version)
    cluster = replace(cluster, kubernetes_version=version)
    against = replace(against, against_version=against_version)
    second = against.values()
    if not (second or what_ifs.given):
        raise typer.BadParameter(
            "nothing to compare with: give another snapshot, --kubernetes-version FROM..TO, --against-version, "
            "--against-config, --against-feature-gates or a what-if such as --cordon",
            param_hint="--against",
        )
    before = cluster.request(admission=not which.no_admission)
    after = against.request(before, what_ifs)

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.diff.analysis import diff
    from kschedctl.questions.diff.answer import AnswerPart
    from kschedctl.questions.diff.comparison import ComparisonRequest
    from kschedctl.questions.diff.document import DiffView

    handle = TerminalHandle()
    loaded, request = ComparisonRequest(pods=which.request(before), other=after, all_pods=all_pods).load(handle)
    answer = diff(loaded, request, handle)
    counts = {
        ExitOn.OUTCOME: not answer.yes,
        ExitOn.ANY: any(pod.parts != (AnswerPart.SCORES,) for pod in answer.changed),
        ExitOn.WORSE: any(pod.worse for pod in answer.changed),
    }
    return CommandResult(
        answer=answer,
        cluster=loaded,
        view=DiffView(other=second, details=exit_on is ExitOn.ANY),
        outcome=replace(answer.outcome, yes=not counts[exit_on]),
        arguments={f"{namespace}/{name}": one.arguments for (namespace, name), one in request.new_pods[1].items()},
    )

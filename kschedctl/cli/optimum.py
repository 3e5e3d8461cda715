"""``kschedctl optimum``."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import ManifestOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult

_HOW = "Goal"
_OTHER = "Other analyses"


class GoalOption(StrEnum):
    """The last goal, which decides between placements that are equal in all others."""

    SCORES = "scores"
    NODES = "nodes"


class MinimizeOption(StrEnum):
    """The kind of object to minimize."""

    NODES = "nodes"


@command
def optimum(
    *,
    which: ManifestOptions,
    goal: Annotated[
        GoalOption,
        typer.Option(
            "--goal",
            rich_help_panel=_HOW,
            help="Last goal: the scheduler's own scores in the current cluster, or few nodes in use.",
        ),
    ] = GoalOption.SCORES,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            min=0.1,
            rich_help_panel=_HOW,
            help="Time limit of the solver; after that, the best placement so far is shown with its bound.",
        ),
    ] = 60.0,
    minimize: Annotated[
        MinimizeOption | None,
        typer.Option(
            "--minimize",
            rich_help_panel=_OTHER,
            help="Show which nodes can be emptied, and in which order to drain them.",
            show_default=False,
        ),
    ] = None,
    buy: Annotated[
        str,
        typer.Option(
            "--buy",
            metavar="CATALOG",
            rich_help_panel=_OTHER,
            help="Find the cheapest nodes of a catalog (YAML) with which all pending pods can be placed, "
            "without evictions.",
            show_default=False,
        ),
    ] = "",
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> "CommandResult":
    """Find the best placement of all pending pods at once, and compare it with kube-scheduler's, one pod after another.

    Goals are, in this order: many pods on nodes, by priority from the highest; no violated disruption budgets; few
    evictions, again by priority; then --goal. A pod is evicted only on a node that a pod of higher priority is placed
    on, as preemption allows; pods that their controllers recreate are placed, too. The placement shown has passed the
    scheduler's own filters, pod by pod.

    With --buy, nodes of a catalog are selected with which all pods can be placed; with --minimize, nodes that can be
    emptied.

    The exit code is 0 if the best placement has all pods on nodes, or some node can be emptied, and 1 otherwise.
    """
    if buy and minimize is not None:
        raise typer.BadParameter("cannot be combined with --minimize", param_hint="--buy")
    request = cluster.request(what_ifs)

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.manifests import load_with_manifests
    from kschedctl.questions.optimum.analysis import OptimumRequest, consolidate, purchase
    from kschedctl.questions.optimum.analysis import optimum as find_optimum
    from kschedctl.trials.optimum.goals import FinalGoal
    from kschedctl.trials.optimum.program import load_solver
    from kschedctl.trials.optimum.purchase import read_catalog

    # A missing solver is reported before anything is read.
    load_solver()
    catalog = read_catalog(buy) if buy else None
    handle = TerminalHandle()
    loaded = load_with_manifests(which.request(), request, handle)
    if catalog is not None:
        return CommandResult(answer=purchase(loaded, catalog, handle, seconds=time_limit), cluster=loaded)
    if minimize is not None:
        return CommandResult(answer=consolidate(loaded, handle, seconds=time_limit), cluster=loaded)
    asked = OptimumRequest(final=FinalGoal(goal.value), seconds=time_limit)
    return CommandResult(answer=find_optimum(loaded, asked, handle), cluster=loaded)

"""``kschedctl optimum``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.manifests import ManifestOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.shown import Shown

_HOW = "What is best"
_OTHER = "Other questions"


class GoalOption(StrEnum):
    """What decides between placements that are equal in everything else."""

    SCORES = "scores"
    NODES = "nodes"


class MinimizeOption(StrEnum):
    """What there shall be few of."""

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
            help="What decides in the end: the scheduler's own scores as the cluster is now, or few nodes in use.",
        ),
    ] = GoalOption.SCORES,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            min=0.1,
            rich_help_panel=_HOW,
            help="How long the solver may take; then the best so far is told, with its bound.",
        ),
    ] = 60.0,
    minimize: Annotated[
        MinimizeOption | None,
        typer.Option(
            "--minimize",
            rich_help_panel=_OTHER,
            help="Which nodes could be emptied, and in which order to drain them.",
            show_default=False,
        ),
    ] = None,
    buy: Annotated[
        str,
        typer.Option(
            "--buy",
            metavar="CATALOG",
            rich_help_panel=_OTHER,
            help="The cheapest nodes of a catalog (YAML) that place everything that waits, with nobody evicted.",
            show_default=False,
        ),
    ] = "",
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> Shown:
    """Find the best placement of all waiting pods at once, beside what kube-scheduler makes of them one after another.

    Best is, in this order: many pods on nodes, by priority from the highest; disruption budgets kept; few evictions,
    again by priority; then --goal. A pod is evicted only on a node that one of higher priority goes to, as preemption
    allows it; what its controller makes again is placed, too. What is shown has passed the real filters, pod by pod.

    With --buy it names nodes of a catalog with which all find a place, and with --minimize nodes that could be emptied.

    The exit code is 0 where the best placement has all pods on nodes, or some node can be emptied, and else 1.
    """
    if buy and minimize is not None:
        raise typer.BadParameter("not together with --minimize", param_hint="--buy")
    request = cluster.request(what_ifs)

    from kschedctl.analyses.optimum.analysis import OptimumRequest, consolidate, purchase
    from kschedctl.analyses.optimum.analysis import optimum as find_optimum
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.shown import Shown
    from kschedctl.optimum.catalog import read_catalog
    from kschedctl.optimum.cp_sat import load_solver
    from kschedctl.optimum.goals import FinalGoal
    from kschedctl.requests.manifests import load_with_manifests

    # Whether the solver is installed is known before anything is read.
    load_solver()
    catalog = read_catalog(buy) if buy else None
    handle = TerminalHandle()
    loaded = load_with_manifests(which.request(), request, handle)
    if catalog is not None:
        return Shown(answer=purchase(loaded, catalog, handle, seconds=time_limit))
    if minimize is not None:
        return Shown(answer=consolidate(loaded, handle, seconds=time_limit))
    asked = OptimumRequest(final=FinalGoal(goal.value), seconds=time_limit)
    return Shown(answer=find_optimum(loaded, asked, handle))

"""``kschedctl leader``, and the commands below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from kschedctl.cli.command import command
from kschedctl.cli.help import Command, Group
from kschedctl.cli.leader.run_command import run
from kschedctl.cli.leader.simulate import simulate
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.output import OutputOptions

if TYPE_CHECKING:
    from kschedctl.cli.shown import Shown

app = typer.Typer(
    cls=Group,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
@command
def leader(*, ctx: typer.Context, cluster: ClusterOptions, output: OutputOptions) -> Shown | None:
    """Say who leads in every election on a Lease, since when, and when another would take over.

    Told are the age of the last renewal against the snapshot's, how often another took over, holders that are no pod
    or node of the snapshot, schedulers without an election, and records in annotations, as clusters had them before
    there were Leases. With --config also what of a scheduler's leaderElection does not fit.

    The exit code is 1 where nobody leads an election, or something else is wrong.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from kschedctl.analyses.leader.elections import leader
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.shown import Shown

    loaded = cluster.request().load(TerminalHandle())
    return Shown(answer=leader(loaded, check_configuration=bool(cluster.config)))


app.command(cls=Command)(simulate)
# What follows the command's name is its own.
app.command(cls=Command, context_settings={"allow_interspersed_args": False})(run)

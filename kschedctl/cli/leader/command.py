"""``kschedctl leader`` and its subcommands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from kschedctl.cli.command import command
from kschedctl.cli.help import Command, CommandGroup
from kschedctl.cli.leader.run_command import run
from kschedctl.cli.leader.simulate import simulate
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.shared import EveryNamespaceOption

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult

app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
@command
def leader(
    *,
    ctx: typer.Context,
    all_namespaces: EveryNamespaceOption = False,
    cluster: ClusterOptions,
    output: OutputOptions,
) -> CommandResult | None:
    """Show the leader of every election on a Lease, since when it leads, and when another candidate would take over.

    Reported are the age of the last renewal at the time of the snapshot, the number of leader changes, holders that are
    no pod or node of the snapshot, schedulers without an election, and election records in annotations, which clusters
    used before Leases existed. With --config, also settings of the scheduler's leaderElection that do not match. A
    holder is late if it has not renewed for more than two retry periods, which are longer in proportion for a longer
    lease duration than that of the scheduler.

    A running cluster is asked for the Leases of all namespaces; without the right to list nodes or pods, holders are
    shown by their identities alone.

    The exit code is 1 if an election has no leader, if there is no election, or if there is another error.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.leader.analysis import leader

    loaded = cluster.request().load(TerminalHandle())
    return CommandResult(answer=leader(loaded, check_configuration=bool(cluster.config)))


app.command(cls=Command)(simulate)
# All words after the name of the command to run belong to that command.
app.command(cls=Command, context_settings={"allow_interspersed_args": False})(run)

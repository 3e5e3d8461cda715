"""The registry of commands, in the order of the documentation. A new command is an entry here.

It has a module here unless the request of its question is all that it needs. The summaries are here, so that help,
usage errors and the completion of names import no command.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import typer.main

from kschedctl.cli.help import Command, CommandGroup

if TYPE_CHECKING:
    #: A command as typer reads it: a function, or an app with subcommands.
    Declared: TypeAlias = Callable[..., None] | typer.Typer


#: The first sentence of the help of each command, by name. Its module has the same name.
COMMANDS: Final[Mapping[str, str]] = {
    "nodes": (
        "Show the free and allocatable capacity of nodes, the largest free block of each resource, and "
        "what uses the rest."
    ),
    "pending": "List pending pods by cause and age, and the fewest changes that would schedule most of them.",
    "explain": "Explain where kube-scheduler would schedule a pod, or why it cannot, node by node.",
    "preempt": "Show which pods kube-scheduler would evict to schedule a pod, on which node, and why.",
    "volumes": "Show the volume that a claim has or would get, why no other, and the nodes from which it can be used.",
    "devices": (
        "Show devices, the claims that hold them, and the nodes on which a claim or a device of a class "
        "can be allocated."
    ),
    "simulate": (
        "Schedule many pods one after another, and show which are scheduled, which stay pending and which are evicted."
    ),
    "optimum": (
        "Find the best placement of all pending pods at once, and compare it with kube-scheduler's, one "
        "pod after another."
    ),
    "capacity": (
        "Count how many more copies of a pod or workload fit, and show their nodes and what stops the next copy."
    ),
    "provision": (
        "Show the nodes that Karpenter would launch for pending pods, and where kube-scheduler then puts the pods."
    ),
    "consolidate": ("Show which nodes Karpenter would delete or replace by cheaper ones, and why it keeps the others."),
    "drain": (
        "Simulate kubectl drain: show what blocks it, where each pod would be scheduled, and which pods stay pending."
    ),
    "rollout": (
        "Simulate the rollout of a Deployment or StatefulSet step by step, and report whether it finishes or why not."
    ),
    "sweep": (
        "Answer many what-ifs at once, as a table: sizes, replicas, weights, profiles, zone losses, "
        "releases or snapshots."
    ),
    "watch": "Watch a cluster and explain each pending pod, once per change of its answer.",
    "serve": "Serve pages and a JSON API about a cluster, for a team or for one's own browser.",
    "mcp": "Answer the questions of an assistant about a cluster, over the Model Context Protocol (MCP).",
    "leader": (
        "Show the leader of every election on a Lease, since when it leads, and when another candidate would take over."
    ),
    "diff": (
        "Compare scheduling decisions: show which nodes, scores, chosen nodes, victims and messages change for pods."
    ),
    "lint": (
        "Report problems in manifests before they are applied: pods that never schedule, rollouts and drains that hang."
    ),
    "rule": (
        "Show lint rules: what they find, why it is wrong, where it takes effect, and how to repair it, with examples."
    ),
    "batch": (
        'Decide many cases: read one {"id", "objects", "pod", "config"} per line, print one answer per line, in order.'
    ),
    "verify": "Compare all answers with the decisions of kube-scheduler, and explain possible differences.",
    "snapshot": "Write the cluster to a snapshot for --snapshot, or show what a snapshot contains.",
}


#: The commands with subcommands: each is an app, the others are functions with the name of the command.
GROUPS: Final = frozenset(("leader", "snapshot"))


def declared_command(name: str) -> "Declared":
    """Import a command.

    Raises KeyError if there is no such command.
    """
    if name not in COMMANDS:
        raise KeyError(name)
    module = f"kschedctl.cli.{name}"
    try:
        return cast("Declared", resolve_name(f"{module}:{'app' if name in GROUPS else name}"))
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    # A question that needs nothing but its request has no module of its own here.
    from kschedctl.questions.request import request_of

    return cast("Declared", resolve_name("kschedctl.cli.command:asking")(request_of(name), name))


# The command group of the program. It lists the commands from the registry, and imports only the one that is run.

#: The names in the order of the help: commands with subcommands come last, as typer orders them.
_NAMES: Final = sorted(COMMANDS, key=GROUPS.__contains__)


class LazyCommands(Mapping[str, Any]):
    """The commands by name, as typer runs them; each is imported when it is read."""

    def __getitem__(self, name: str) -> Any:
        return _built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


class LazyGroup(CommandGroup):
    """The group of the registered commands. Help, errors and the completion of command names import none of them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = LazyCommands()

    def summaries(self, context: Any) -> Mapping[str, str]:
        return {name: COMMANDS[name] for name in _NAMES}

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the completions of a command name, or of an option of the program."""
        commands = self.commands
        self.commands = {name: Command(name=name, help=text) for name, text in self.summaries(ctx).items()}
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self.commands = commands


@cache
def _built(name: str) -> Any:
    """Import a command, and convert it for typer.

    Raises KeyError if there is no such command.
    """
    declared = declared_command(name)
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(declared, typer.Typer):
        app.add_typer(declared, name=name)
    else:
        app.command(name=name, cls=Command)(declared)
    return typer.main.get_group(app).commands[name]

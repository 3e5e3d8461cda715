"""The registry of commands, in the order of the help. A new command is a module beside this file and a line here."""

from __future__ import annotations

from typing import Final

from kschedctl.cli.batch import batch
from kschedctl.cli.capacity import capacity
from kschedctl.cli.devices import devices
from kschedctl.cli.diff import diff
from kschedctl.cli.drain import drain
from kschedctl.cli.explain import explain
from kschedctl.cli.leader.command import app as leader
from kschedctl.cli.lint.command import lint
from kschedctl.cli.nodes import nodes
from kschedctl.cli.optimum import optimum
from kschedctl.cli.options.command_parameters import Commands, declare
from kschedctl.cli.pending import pending
from kschedctl.cli.preempt import preempt
from kschedctl.cli.rollout import rollout
from kschedctl.cli.rule import rule
from kschedctl.cli.serve import serve
from kschedctl.cli.simulate import simulate
from kschedctl.cli.snapshot import app as snapshot
from kschedctl.cli.sweep import sweep
from kschedctl.cli.verify import verify
from kschedctl.cli.volumes import volumes
from kschedctl.cli.watch import watch

#: The commands by name: functions, and apps with subcommands.
COMMANDS: Final[Commands] = {
    "nodes": nodes,
    "pending": pending,
    "explain": explain,
    "preempt": preempt,
    "volumes": volumes,
    "devices": devices,
    "simulate": simulate,
    "optimum": optimum,
    "capacity": capacity,
    "drain": drain,
    "rollout": rollout,
    "sweep": sweep,
    "watch": watch,
    "serve": serve,
    "leader": leader,
    "diff": diff,
    "lint": lint,
    "rule": rule,
    "batch": batch,
    "verify": verify,
    "snapshot": snapshot,
}
declare(COMMANDS)

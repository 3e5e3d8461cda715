"""The commands that there are, in the order of the help. A new one is a folder beside this file and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import typer

from kschedctl.cli.batch.command import batch
from kschedctl.cli.capacity.command import capacity
from kschedctl.cli.devices.command import devices
from kschedctl.cli.diff.command import diff
from kschedctl.cli.drain.command import drain
from kschedctl.cli.explain.command import explain
from kschedctl.cli.leader.command import app as leader
from kschedctl.cli.lint.command import lint
from kschedctl.cli.optimum.command import optimum
from kschedctl.cli.pending.command import pending
from kschedctl.cli.preempt.command import preempt
from kschedctl.cli.rollout.command import rollout
from kschedctl.cli.rule.command import rule
from kschedctl.cli.simulate.command import simulate
from kschedctl.cli.snapshot.command import app as snapshot
from kschedctl.cli.sweep.command import sweep
from kschedctl.cli.verify.command import verify
from kschedctl.cli.volumes.command import volumes
from kschedctl.cli.watch.command import watch

#: Functions, and apps with commands of their own.
COMMANDS: Final[Mapping[str, Callable[..., None] | typer.Typer]] = {
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
    "leader": leader,
    "diff": diff,
    "lint": lint,
    "rule": rule,
    "batch": batch,
    "verify": verify,
    "snapshot": snapshot,
}

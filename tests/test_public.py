"""The public names of ``kschedctl``: all types that its functions take or return."""

import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import kschedctl
from kschedctl.cli.commands import COMMANDS
from kschedctl.questions.functions import case_configuration, decide_cases, lint, rules, run_sweep
from kschedctl.questions.method import Method
from kschedctl.questions.scheduling_cluster import SchedulingCluster, load
from kschedctl.scheduler.cycle.decision import Decision, NodeVerdict

OFFERED = [SchedulingCluster, kschedctl.NodeList, kschedctl.PodList, Decision, NodeVerdict]


def mentioned(annotation: Any) -> Iterator[type]:
    """Yield the classes of this package in an annotation."""
    for part in typing.get_args(annotation):
        yield from mentioned(part)
    if isinstance(annotation, type) and annotation.__module__.startswith("kschedctl."):
        yield annotation


def signatures() -> Iterator[tuple[str, Any]]:
    yield "load", load
    functions = (lint, rules, run_sweep, case_configuration, decide_cases)
    yield from ((function.__name__, function) for function in functions)
    for cls in OFFERED:
        for name, member in inspect.getmembers_static(cls):
            if isinstance(member, Method):
                yield f"{cls.__name__}.{name}", member.request.answer
                yield f"{cls.__name__}.{name}", member.request.__init__
            if name.startswith("_"):
                continue
            if isinstance(member, property):
                yield f"{cls.__name__}.{name}", member.fget
            elif isinstance(member, types.FunctionType):
                yield f"{cls.__name__}.{name}", member


@pytest.mark.parametrize(("name", "function"), list(signatures()), ids=[name for name, _ in signatures()])
def test_every_type_that_is_taken_or_returned_can_be_imported(name: str, function: Any) -> None:
    hints = typing.get_type_hints(function, localns={one: getattr(kschedctl, one) for one in kschedctl.__all__})
    for cls in {cls for hint in hints.values() for cls in mentioned(hint)}:
        assert getattr(kschedctl, cls.__name__, None) is cls, f"{name} has {cls.__module__}.{cls.__name__}"


#: The commands whose method or function has another name, because that is a word of the cluster or of a package.
#: ``watch`` and ``serve`` answer for a cluster that changes: a program loads the cluster again.
PYTHON: dict[str, list[Any]] = {
    "nodes": [kschedctl.NodeList.__call__],
    "preempt": ["preempt", "threat"],
    "lint": [kschedctl.lint],
    "rule": [kschedctl.rules],
    "batch": [kschedctl.decide_cases],
    "sweep": [kschedctl.run_sweep, kschedctl.case_configuration],
    "snapshot": ["save", kschedctl.snapshot_info],
    "watch": [kschedctl.load],
    "serve": [kschedctl.load],
    "mcp": [kschedctl.load],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_can_be_called_from_python(command: str) -> None:
    for form in PYTHON.get(command, [command]):
        assert callable(getattr(SchedulingCluster, form) if isinstance(form, str) else form)


@pytest.mark.parametrize("name", sorted(set(kschedctl.__all__) - {"__version__"}))
def test_what_is_offered_is_there(name: str) -> None:
    assert getattr(kschedctl, name).__name__ == name

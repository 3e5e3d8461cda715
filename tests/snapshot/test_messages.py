"""The scheduler's messages with other names in them."""

from __future__ import annotations

import pytest

from kschedctl.api.core import Condition
from kschedctl.snapshot.messages import anonymous_conditions
from kschedctl.snapshot.pseudonyms import Pseudonyms

NAMES = ("web-0", "data", "available", "1")


def anonymous(message: str, *, type_: str = "PodScheduled", reason: str = "Unschedulable") -> list[str]:
    names = Pseudonyms()
    condition = Condition(type=type_, status="False", reason=reason, message=message)
    for name in NAMES:
        names.word(name)
    anonymous_conditions((condition,), names)
    names.settle((), ())
    return [found.message for found in anonymous_conditions((condition,), names)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods.",) * 2,
        (
            "0/3 nodes are available: 3 Insufficient acme.com/gpu. preemption: 0/3 nodes are available",
            "0/3 nodes are available: 3 Insufficient example.com/resource-1. preemption: 0/3 nodes are available",
        ),
        (
            '0/3 nodes are available: persistentvolumeclaim "data" not found.',
            '0/3 nodes are available: persistentvolumeclaim "name-3" not found.',
        ),
        (
            "0/3 nodes are available: 3 node(s) had untolerated taint {team: data}.",
            "0/3 nodes are available: 3 node(s) had untolerated taint {key-1: name-3}.",
        ),
        (
            "0/3 nodes are available: 3 node(s) had untolerated taint {node.kubernetes.io/unreachable: }.",
            "0/3 nodes are available: 3 node(s) had untolerated taint {node.kubernetes.io/unreachable: }.",
        ),
        ("0/3 nodes are available: waiting for web-0.", "0/3 nodes are available: waiting for name-4."),
        ("what another program writes of data", ""),
    ],
    ids=["plain", "resource", "quoted", "taint", "taint of Kubernetes", "bare", "unknown"],
)
def test_messages(message: str, expected: str) -> None:
    assert anonymous(message) == [expected]


def test_errors_can_hold_anything() -> None:
    assert anonymous("0/3 nodes are available: data", reason="SchedulerError") == [""]


def test_conditions_of_other_programs_are_left_out() -> None:
    assert anonymous("anything", type_="acme.com/Approved") == []
    assert anonymous("kubelet of data is ready", type_="Ready", reason="KubeletReady") == [""]

from collections.abc import Iterable
from typing import Any

import pytest

from conformance.coverage import expected, missing, reasons, shape
from conformance.recordings import has_answers, recorded_answers, themes
from kschedctl.objects.releases.release import RELEASES

#: Plugins left out of the check, as their missing reasons occur only with ResourceClaims.
DEVICES = ("DynamicResources", "PostFilter", "Score")
#: Reasons of 1.37 that occur in fresh cases but in no recorded case.
NOT_RECORDED = {"node(s) didn't satisfy plugin(s) [NodeAffinity NodeName]"}


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ('persistentvolumeclaim "data-1" not found', 'persistentvolumeclaim "*" not found'),
        ("Insufficient example.com/gpu", "Insufficient example.com/*"),
        ("Insufficient cpu", "Insufficient cpu"),
        ("waiting for scheduling gates: [a b]", "waiting for scheduling gates: [*]"),
        ("PVC a/b was not created for pod a/c (not owner)", "PVC * was not created for pod * (not owner)"),
        ("claim d/c, request r0: device class x does not exist", "claim *, request *: device class * does not exist"),
        ("class odd: selector #1: CEL runtime error: no such key: x", "class *: selector #*: CEL runtime error: *"),
        (
            "claim d/c: number of requested devices 33 exceeds the claim limit of 32",
            "claim *: number of requested devices * exceeds the claim limit of *",
        ),
    ],
)  # fmt: skip
def test_names_and_numbers_are_left_out(reason: str, expected: str) -> None:
    assert shape(reason) == expected


def test_reasons_come_from_every_part_of_an_answer() -> None:
    answer: dict[str, Any] = {
        "preEnqueue": {
            "code": "Unschedulable",
            "plugin": "SchedulingGates",
            "reasons": ["waiting for scheduling gates: [x]"],
        },
        "filter": {"a": {"code": "Unschedulable", "plugin": "NodePorts", "reasons": ["no ports"]}},
        "allFilters": {"a": {"NodeName": {"code": "Unschedulable", "reasons": ["no name"]}}},
        "message": "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. no",
        "preemption": {
            "status": {"reasons": ["preemption: 0/3 nodes are available: 1 No victims found, 2 Not helpful, now."]}
        },
    }
    assert set(reasons(answer)) == {
        ("SchedulingGates", "waiting for scheduling gates: [*]"),
        ("NodePorts", "no ports"),
        ("NodeName", "no name"),
        ("", "node(s) didn't satisfy plugin(s) [NodeAffinity]"),
        ("PostFilter", "preemption: No victims found"),
        ("PostFilter", "preemption: Not helpful, now"),
    }


def recorded(version: str) -> Iterable[dict[str, Any]]:
    for theme in themes():
        if has_answers(theme, version):
            yield from recorded_answers(theme, version).values()


@pytest.mark.parametrize("version", RELEASES)
def test_the_recorded_answers_have_every_reason_but_those_of_devices(version: str) -> None:
    assert expected(version)
    lacking = [(plugin, reason) for plugin, reason in missing(recorded(version), version) if plugin not in DEVICES]
    assert [found for found in lacking if "deviceclass" not in found[1] and found[1] not in NOT_RECORDED] == []

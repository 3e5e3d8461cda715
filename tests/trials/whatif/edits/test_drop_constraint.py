"""``--drop-constraint``: as it is written, and what it makes of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edits import DropConstraint
from tests.trials.whatif.pods import edited_spec

READ = {
    "spread": DropConstraint("spread"),
    "spread:topology.kubernetes.io/zone": DropConstraint("spread", "topology.kubernetes.io/zone"),
    "affinity": DropConstraint("affinity"),
    "anti-affinity:rack": DropConstraint("anti-affinity", "rack"),
    "node-affinity": DropConstraint("node-affinity"),
}
WRONG = {
    "spreading": "spread, affinity, anti-affinity, each also with :TOPOLOGYKEY, or node-affinity",
    "": "is not a constraint",
    "node-affinity:rack": "is not a constraint",
    "spread:": '"" is not valid here',
    "spread:a b": '"a b" is not valid here',
}

ZONE = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
RACK = {**ZONE, "topologyKey": "rack"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NEAR = {
    REQUIRED: [{"topologyKey": "zone"}, {"topologyKey": "rack"}],
    PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}],
}
NODES = {PREFERRED: [{"weight": 1, "preference": {"matchFields": [{"key": "metadata.name", "operator": "In"}]}}]}
AFFINITY = {"nodeAffinity": NODES, "podAffinity": NEAR, "podAntiAffinity": NEAR}
MADE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "all spread constraints": (
        "spread",
        {"topologySpreadConstraints": [ZONE, RACK], "affinity": AFFINITY},
        {"topologySpreadConstraints": None, "affinity": AFFINITY},
    ),
    "those of a topology key": (
        "spread:zone",
        {"topologySpreadConstraints": [ZONE, RACK]},
        {"topologySpreadConstraints": [RACK]},
    ),
    "affinity to pods": (
        "affinity",
        {"affinity": AFFINITY},
        {"affinity": {"nodeAffinity": NODES, "podAffinity": {}, "podAntiAffinity": NEAR}},
    ),
    "anti-affinity over a topology key, required and preferred": (
        "anti-affinity:zone",
        {"affinity": AFFINITY},
        {"affinity": {**AFFINITY, "podAntiAffinity": {REQUIRED: [{"topologyKey": "rack"}]}}},
    ),
    "node affinity": (
        "node-affinity",
        {"affinity": AFFINITY},
        {"affinity": {"podAffinity": NEAR, "podAntiAffinity": NEAR}},
    ),
    "none there": ("anti-affinity", {}, {"affinity": None}),
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert DropConstraint.parse(text) == READ[text]
    assert str(DropConstraint.parse(text)) == f"drop constraint {text}"


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        DropConstraint.parse(text)
    assert str(caught.value).startswith("--drop-constraint: ")
    assert WRONG[text] in str(caught.value)


@pytest.mark.parametrize("case", MADE)
def test_what_a_pod_is_afterwards(case: str) -> None:
    text, before, after = MADE[case]
    found = edited_spec(before, DropConstraint.parse(text))
    assert {key: found.get(key) for key in after} == after

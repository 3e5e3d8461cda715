"""The merging of label keys into selectors by table."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kschedctl.controllers.admission.label_keys import merge_label_keys
from kschedctl.objects.pod import Pod
from tests.builders import make_object

LABELS = {"app": "web", "hash": "7", "tenant": "a"}
SELECTOR = {"matchLabels": {"app": "web"}}


def requirement(key: str, operator: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": [value]}


def merged(*requirements: dict[str, Any]) -> dict[str, Any]:
    return {**SELECTOR, "matchExpressions": list(requirements)}


def as_json(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


IN_HASH = requirement("hash", "In", "7")
NOT_IN_TENANT = requirement("tenant", "NotIn", "a")
OWN = requirement("tier", "In", "front")


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param({"labelSelector": SELECTOR}, SELECTOR, id="no keys"),
        pytest.param({"labelSelector": SELECTOR, "matchLabelKeys": ["hash"]}, merged(IN_HASH), id="a key that matches"),
        pytest.param(
            {"labelSelector": SELECTOR, "mismatchLabelKeys": ["tenant"], "matchLabelKeys": ["hash"]},
            merged(IN_HASH, NOT_IN_TENANT),
            id="keys that match come before those that do not",
        ),
        pytest.param(
            {"labelSelector": SELECTOR, "matchLabelKeys": ["tenant", "hash"]},
            merged(requirement("tenant", "In", "a"), IN_HASH),
            id="in the order of the keys",
        ),
        pytest.param(
            {"labelSelector": merged(OWN), "matchLabelKeys": ["hash"]}, merged(OWN, IN_HASH), id="after its own"
        ),
        pytest.param(
            {"labelSelector": SELECTOR, "matchLabelKeys": ["gone", "hash"]},
            merged(IN_HASH),
            id="a label that the pod does not have",
        ),
        pytest.param({"matchLabelKeys": ["hash"]}, None, id="no selector matches nothing"),
        pytest.param(
            {"labelSelector": merged(IN_HASH), "matchLabelKeys": ["hash"]},
            merged(IN_HASH),
            id="a pod that was admitted before",
        ),
    ],
)
@pytest.mark.parametrize("affinity", ["podAffinity", "podAntiAffinity"])
def test_pod_affinity(affinity: str, term: dict[str, Any], expected: dict[str, Any] | None) -> None:
    terms = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}],
    }
    pod = make_object(Pod, "pod", labels=LABELS, spec={"affinity": {affinity: terms}})
    out = as_json(merge_label_keys(pod))["spec"]["affinity"][affinity]
    required = out["requiredDuringSchedulingIgnoredDuringExecution"][0]
    preferred = out["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"]
    assert required.get("labelSelector") == expected
    assert preferred.get("labelSelector") == expected


@pytest.mark.parametrize(
    ("spread", "expected"),
    [pytest.param(True, merged(IN_HASH), id="gate on"), pytest.param(False, SELECTOR, id="gate off")],
)
def test_topology_spread(spread: bool, expected: dict[str, Any]) -> None:
    constraint = {"labelSelector": SELECTOR, "matchLabelKeys": ["hash"]}
    pod = make_object(Pod, "pod", labels=LABELS, spec={"topologySpreadConstraints": [constraint]})
    out = merge_label_keys(pod, spread=spread).spec.topology_spread_constraints[0]
    assert as_json(out.label_selector) == expected

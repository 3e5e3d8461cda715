"""The validation of new pods by table."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.admission.pod_validation import pod_findings
from tests.builders import make_pod

SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param({"containers": []}, "spec.containers: Required value", id="no containers"),
        pytest.param(
            {"topologySpreadConstraints": [SPREAD | {"whenUnsatisfiable": "DoNotSchedul"}]},
            'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "DoNotSchedul": '
            'supported values: "DoNotSchedule", "ScheduleAnyway"',
            id="unknown whenUnsatisfiable",
        ),
        pytest.param(
            {"topologySpreadConstraints": [SPREAD | {"maxSkew": 0, "minDomains": 0}]},
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero\n"
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero",
            id="several at once",
        ),
        pytest.param(
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
            "spec.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
            id="a value that Exists does not take",
        ),
    ],
)
def test_refused(spec: dict[str, Any], text: str) -> None:
    assert "\n".join(map(str, pod_findings(make_pod(**spec)))) == text


def test_valid() -> None:
    assert not list(pod_findings(make_pod(topologySpreadConstraints=[SPREAD], tolerations=[{"operator": "Exists"}])))

"""Terms and constraints that do nothing, as no node has their topology key."""

from typing import Any

import pytest

from kschedctl.diagnosis.diagnosis import Situation
from kschedctl.diagnosis.idle_terms import idle_terms
from tests.builders import ZONE, decide, make_cluster, make_node, make_pod

WEB = {"app": "web"}


def spread(key: str, action: str) -> dict[str, Any]:
    constraint = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": action, "labelSelector": {"matchLabels": WEB}}
    return {"topologySpreadConstraints": [constraint]}


def preferring(kind: str, key: str, *, required: bool = False) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": WEB}}
    if required:
        return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    weighted = {"weight": 1, "podAffinityTerm": term}
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        pytest.param(
            preferring("podAntiAffinity", "topology.kubernetes.io/zones"),
            f"the preferred pod anti-affinity by topology.kubernetes.io/zones does nothing: no node has this label; "
            f"nodes have {ZONE}",
            id="preferred anti-affinity",
        ),
        pytest.param(
            preferring("podAffinity", "example.com/rack"),
            "the preferred pod affinity by example.com/rack does nothing: no node has this label",
            id="preferred affinity",
        ),
        pytest.param(
            preferring("podAntiAffinity", "failure-domain.beta.kubernetes.io/zone", required=True),
            "the required pod anti-affinity by failure-domain.beta.kubernetes.io/zone does nothing: no node has this "
            f"label; nodes have {ZONE}",
            id="required anti-affinity",
        ),
        pytest.param(
            spread("example.com/rack", "ScheduleAnyway"),
            "the ScheduleAnyway spread by example.com/rack does nothing: no node has this label",
            id="soft spread",
        ),
        pytest.param(preferring("podAntiAffinity", ZONE), None, id="a label that nodes have"),
        pytest.param(spread("example.com/rack", "DoNotSchedule"), None, id="a hard spread rejects nodes"),
    ],
)
def test_terms_that_do_nothing(spec: dict[str, Any], told: str | None) -> None:
    found = decide(make_pod(labels=WEB, **spec), make_cluster([make_node("a", zone="x")]))
    assert list(idle_terms(Situation(found))) == ([told] if told else [])

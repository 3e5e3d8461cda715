from typing import Any

import pytest

from kschedctl.objects.selectors import Requirement
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import (
    ExistingAntiAffinity,
    NominatedPodInTheWay,
    NoPodNear,
    OwnAntiAffinity,
)
from tests.builders import told


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            NoPodNear("zone", "a", (Requirement("app", "In", ("db",)), Requirement("tier", "Exists"))),
            "no pod with app=db and tier in zone=a",
            {"topologyKey": "zone", "domain": "a", "selector": "app=db and tier"},
            id="no pod near",
        ),
        pytest.param(
            NoPodNear("zone", "a", ()),
            "no pod in zone=a",
            {"topologyKey": "zone", "domain": "a", "selector": "any pod"},
            id="no pod at all",
        ),
        pytest.param(
            NominatedPodInTheWay("zone", "a"),
            "a pod nominated to the node, by zone",
            {"topologyKey": "zone", "domain": "a"},
            id="nominated",
        ),
        pytest.param(
            OwnAntiAffinity("zone", "a", "shop/web", 3),
            "shop/web and 2 more in zone=a matches the pod's anti-affinity",
            {"topologyKey": "zone", "domain": "a", "pod": "shop/web", "pods": 3},
            id="unwanted",
        ),
        pytest.param(
            ExistingAntiAffinity("zone", "a", "shop/web", 1),
            "anti-affinity of shop/web in zone=a matches the pod",
            {"topologyKey": "zone", "domain": "a", "pod": "shop/web", "pods": 1},
            id="unwilling",
        ),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)

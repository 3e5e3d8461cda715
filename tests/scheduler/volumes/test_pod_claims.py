from __future__ import annotations

import pytest

from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.scheduler.volumes.pod_claims import claim_uses, group_claims
from tests.builders import make_claim, make_cluster, make_pod, make_storage_class, mount


def test_claims_of_a_pod_in_the_order_of_its_volumes() -> None:
    volumes = [
        *mount("data"),
        {"name": "scratch", "ephemeral": {}},
        {"name": "config", "configMap": {}},
        *mount("data"),
    ]
    uses = list(claim_uses(make_pod("web-0", volumes=volumes)))
    assert [(use.claim, use.ephemeral) for use in uses] == [("data", False), ("web-0-scratch", True), ("data", False)]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        pytest.param(make_claim(bound="pv"), "bound", id="bound for good"),
        pytest.param(make_claim(volumeName="pv"), "immediate", id="names its volume, not bound for good yet"),
        pytest.param(make_claim(), "delayed", id="the class waits"),
        pytest.param(make_claim(storage_class="now"), "immediate", id="the class does not wait"),
        pytest.param(make_claim(storage_class="gone"), "immediate", id="the class does not exist"),
        pytest.param(make_claim(storage_class=""), "immediate", id="no class"),
    ],
)
def test_groups(claim: PersistentVolumeClaim, expected: str) -> None:
    cluster = make_cluster((), (), make_storage_class(), make_storage_class("now", waits=False))
    groups = group_claims(cluster, [claim])
    assert getattr(groups, expected) == (claim,)

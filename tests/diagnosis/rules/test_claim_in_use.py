"""ReadWriteOncePod claims that another pod uses."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import Deployment, ReplicaSet
from tests.builders import (
    decide,
    make_claim,
    make_cluster,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)
from tests.diagnosis.rules.cures import cures

SHARE = "if both pods need the data: move it to a claim with ReadWriteMany, in a class that offers it (untried)"
START = "claim data is ReadWriteOncePod, for one pod at a time, and pod old"


def of_set(name: str) -> dict[str, Any]:
    return {"owner": ("apps/v1", "ReplicaSet", name)}


def replica_set(name: str) -> ApiObject:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
    found = make_object(ReplicaSet, name, namespace="default")
    data = msgspec.to_builtins(found)
    data["metadata"]["ownerReferences"] = [owner]
    return msgspec.convert(data, ReplicaSet)


@pytest.mark.parametrize(
    ("pod", "user", "cause", "expected"),
    [
        pytest.param(
            make_pod(volumes=mount("data")),
            make_pod("old", node="n1", volumes=mount("data")),
            f"{START} on n1 uses it",
            ["let pod default/old end first (untried)", "delete pod default/old", SHARE],
            id="a single pod",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            make_pod("old", node="n1", volumes=mount("data"), terminating=True),
            f"{START} on n1 is terminating and still uses it",
            ["wait until pod default/old has ended on n1 (untried)"],
            id="a terminating pod",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), **of_set("web-2")),
            make_pod("old", node="n1", volumes=mount("data"), **of_set("web-1")),
            f"{START} (Deployment default/web) on n1 uses it",
            ["set strategy Recreate in Deployment web: the old pod then ends first (untried)", SHARE],
            id="the old pod of a rollout",
        ),
    ],
)
def test_cause(pod: Pod, user: Pod, cause: str, expected: list[str]) -> None:
    claim, volume = make_claim(bound="pv", modes=["ReadWriteOncePod"]), make_volume(claim="default/data")
    objects = [claim, volume, make_storage_class(), make_object(Deployment, "web", namespace="default")]
    sets = [replica_set("web-1"), replica_set("web-2")]
    decision = decide(pod, make_cluster([make_node("n1"), make_node("n2")], [user], *objects, *sets))
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert cures(decision)[: len(expected)] == expected

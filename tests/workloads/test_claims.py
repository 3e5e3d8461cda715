"""Claims that are made for pods."""

from __future__ import annotations

from kschedctl.api.workload import ReplicaSet
from kschedctl.workloads.claims import renamed
from kschedctl.workloads.pods import pods_of
from tests.builders import make_cluster, make_container, make_object

APP = {"app": "web"}
SCRATCH = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}
TEMPLATE = {"metadata": {"labels": APP}, "spec": {"containers": [make_container()], "volumes": [SCRATCH]}}
OWNER = make_object(
    ReplicaSet, "web", namespace="shop", spec={"selector": {"matchLabels": APP}, "replicas": 2, "template": TEMPLATE}
)


def test_a_replica_under_another_name_has_claims_of_its_own() -> None:
    cluster = make_cluster()
    (first,) = pods_of(OWNER, cluster)
    second = renamed(first, "web-2", cluster)
    assert [claim.name for claim in first.claims] == ["web-xxxxx-scratch"]
    assert [claim.name for claim in second.claims] == ["web-2-scratch"]
    assert second.claims[0].metadata.owner_references[0].name == second.pod.name == "web-2"
    # The controller is the same one.
    assert first.objects[0] == second.objects[0] == OWNER

"""Claims that are made for pods."""

import pytest

from kschedctl.controllers.workloads.claims import replica_named
from kschedctl.controllers.workloads.pods import pods_of
from kschedctl.objects.device import ResourceClaim, ResourceClaimTemplate
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import ReplicaSet
from tests.builders import make_cluster, make_container, make_object, make_pod, make_storage_class

APP = {"app": "web"}
SCRATCH = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}
TEMPLATE = {"metadata": {"labels": APP}, "spec": {"containers": [make_container()], "volumes": [SCRATCH]}}
OWNER = make_object(
    ReplicaSet, "web", namespace="shop", spec={"selector": {"matchLabels": APP}, "replicas": 2, "template": TEMPLATE}
)


def test_a_replica_under_another_name_has_claims_of_its_own() -> None:
    cluster = make_cluster()
    (first,) = pods_of(OWNER, cluster)
    second = replica_named(first, "web-2", cluster)
    assert [claim.name for claim in first.claims] == ["web-xxxxx-scratch"]
    assert [claim.name for claim in second.claims] == ["web-2-scratch"]
    assert second.claims[0].metadata.owner_references[0].name == second.pod.name == "web-2"
    # The controller is the same one.
    assert first.objects[0] == second.objects[0] == OWNER


FROM_TEMPLATE = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
CLAIM_TEMPLATE = make_object(
    ResourceClaimTemplate,
    "one-gpu",
    namespace="default",
    spec={"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}},
)


def test_a_claim_for_devices_is_made_of_its_template() -> None:
    (made,) = pods_of(make_pod("web", resourceClaims=FROM_TEMPLATE), make_cluster([], [], CLAIM_TEMPLATE))
    (claim,) = made.objects
    assert isinstance(claim, ResourceClaim)
    assert claim.metadata.controller is not None
    assert (claim.name, claim.metadata.controller.name) == ("web-gpu", "web")
    assert [s.resource_claim_name for s in made.pod.status.resource_claim_statuses] == ["web-gpu"]
    exactly = claim.spec.devices.requests[0].exactly
    assert exactly is not None
    assert (exactly.allocation_mode, exactly.count) == ("ExactCount", 1)


@pytest.mark.parametrize(
    ("pod", "objects"),
    [
        pytest.param(make_pod(resourceClaims=FROM_TEMPLATE), [], id="the template is not there"),
        pytest.param(
            make_pod(
                resourceClaims=FROM_TEMPLATE,
                status={"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "made"}]},
            ),
            [CLAIM_TEMPLATE],
            id="it is made already",
        ),
        pytest.param(
            make_pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "own"}]), [CLAIM_TEMPLATE], id="by name"
        ),
    ],
)
def test_otherwise_no_claim_for_devices_is_made(pod: Pod, objects: list[ApiObject]) -> None:
    (made,) = pods_of(pod, make_cluster([], [], *objects))
    assert made.objects == ()
    assert made.pod == pod


def test_another_replica_has_its_own_claim_for_devices() -> None:
    cluster = make_cluster([], [], CLAIM_TEMPLATE)
    (made,) = pods_of(make_pod("web", resourceClaims=FROM_TEMPLATE), cluster)
    other = replica_named(made, "web-2", cluster)
    assert [claim.name for claim in other.objects] == ["web-2-gpu"]
    assert [s.resource_claim_name for s in other.pod.status.resource_claim_statuses] == ["web-2-gpu"]


def test_the_claim_of_an_ephemeral_volume_gets_the_default_class() -> None:
    volume = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    cluster = make_cluster([], [], make_storage_class("standard", default=True))
    (made,) = pods_of(make_pod(volumes=[volume]), cluster)
    assert [claim.spec.storage_class_name for claim in made.claims] == ["standard"]
    assert replica_named(made, "other", cluster).claims[0].name == "other-tmp"

"""StatefulSets: ordinals, labels and claims."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.controllers.workloads.pods import pods_of
from kschedctl.controllers.workloads.stateful_set import another
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.objects.workload import StatefulSet
from tests.builders import make_claim, make_cluster, make_container, make_object, make_pod, mount

APP = {"app": "db"}
POD_INDEX = "apps.kubernetes.io/pod-index"
CLAIM = {
    "metadata": {"name": "data", "labels": {"kind": "disk"}},
    "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
}


def stateful_set(
    *, status: dict[str, Any] | None = None, pod: dict[str, Any] | None = None, **spec: Any
) -> StatefulSet:
    template = {"metadata": {"labels": APP}, "spec": {"containers": [make_container()], **(pod or {})}}
    fields = {"selector": {"matchLabels": APP}, "template": template, **spec}
    return make_object(StatefulSet, "db", namespace="shop", spec=fields, status=status or {})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [("db-0", 1)], id="one by default"),
        pytest.param({"replicas": 3}, [("db-0", 1), ("db-1", 1), ("db-2", 1)], id="an ordinal each"),
        pytest.param({"replicas": 2, "ordinals": {"start": 5}}, [("db-5", 1), ("db-6", 1)], id="from another start"),
        pytest.param({"replicas": 0}, [("db-0", 0)], id="scaled down"),
    ],
)
def test_ordinals(spec: dict[str, Any], expected: list[tuple[str, int]]) -> None:
    made = pods_of(stateful_set(**spec), make_cluster())
    assert [(one.pod.name, one.replicas) for one in made] == expected


def test_identity() -> None:
    given = stateful_set(replicas=2)
    _, made = pods_of(given, make_cluster())
    metadata = made.pod.metadata
    revision = metadata.labels["controller-revision-hash"]
    assert metadata.labels == {
        **APP,
        "statefulset.kubernetes.io/pod-name": "db-1",
        "apps.kubernetes.io/pod-index": "1",
        "controller-revision-hash": revision,
    }
    assert revision.startswith("db-")
    assert metadata.generate_name == "db-"
    (reference,) = metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name) == ("apps/v1", "StatefulSet", "db")
    assert made.objects == (given,)


@pytest.mark.parametrize(
    ("stored", "is_known"),
    [
        pytest.param(stateful_set(status={"updateRevision": "db-7"}), True, id="the same template"),
        pytest.param(stateful_set(status={"updateRevision": "db-7"}, pod={"hostNetwork": True}), False, id="another"),
        pytest.param(stateful_set(), False, id="no status yet"),
    ],
)
def test_revision(stored: StatefulSet, is_known: bool) -> None:
    (made,) = pods_of(stateful_set(), make_cluster([], [], stored))
    assert (made.pod.metadata.labels["controller-revision-hash"] == "db-7") == is_known
    assert made.objects == ()


def test_claims() -> None:
    volumes = [
        {"name": "data", "csi": {"driver": "csi.example.com"}},
        {"name": "shared", "persistentVolumeClaim": {"claimName": "all"}},
    ]
    given = stateful_set(replicas=2, volumeClaimTemplates=[CLAIM], pod={"volumes": volumes})
    stored = make_object(PersistentVolumeClaim, "data-db-0", namespace="shop", spec={"volumeName": "disk-1"})
    first, second = pods_of(given, make_cluster([], [], given, stored))
    assert first.claims == ()
    (claim,) = second.claims
    assert (claim.name, claim.namespace, claim.metadata.labels) == ("data-db-1", "shop", {"kind": "disk", **APP})
    assert (claim.spec.storage_class_name, claim.spec.resources.requests) == ("fast", {"storage": "1Gi"})
    assert (claim.spec.volume_mode, claim.status.phase) == ("Filesystem", "Pending")
    # The claim takes the place of the template's volume of the same name.
    for ordinal, made in enumerate((first, second)):
        used = [
            (v.name, v.persistent_volume_claim.claim_name) for v in made.pod.spec.volumes if v.persistent_volume_claim
        ]
        assert used == [("data", f"data-db-{ordinal}"), ("shared", "all")]
        assert len(made.pod.spec.volumes) == 2


@pytest.mark.parametrize(
    ("kind", "claims", "created"),
    [
        pytest.param("StatefulSet", ["data-db-1", "all"], ["data-db-1"], id="each pod of a StatefulSet has its own"),
        pytest.param("ReplicaSet", ["data-db-0", "all"], [], id="other pods share them"),
    ],
)
def test_the_claims_of_a_copy(kind: str, claims: list[str], created: list[str]) -> None:
    volumes = [{**mount("data-db-0")[0], "name": "data"}, *mount("all")]
    pod = make_pod("db-0", node="a", owner=("apps/v1", kind, "db"), labels={POD_INDEX: "0"}, volumes=volumes)
    cluster = make_cluster((), [pod], make_claim("data-db-0", bound="pv"), make_claim("all", bound="pv-all"))
    made = another(cluster.pods.pod(0), "db-1", cluster)
    sources = [volume.persistent_volume_claim for volume in made.pod.spec.volumes]
    assert [source.claim_name for source in sources if source is not None] == claims
    assert [(claim.name, claim.spec.volume_name) for claim in made.claims] == [(name, "") for name in created]
    assert (made.pod.name, made.pod.metadata.labels[POD_INDEX]) == ("db-1", "1" if created else "0")

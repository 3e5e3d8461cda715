"""Pods that new workloads make."""

from __future__ import annotations

import pytest

from kschedctl.api.meta import ApiObject
from kschedctl.api.volume import PersistentVolumeClaim
from kschedctl.api.workload import ReplicaSet, StatefulSet
from kschedctl.errors import ManifestError
from kschedctl.releases.release import LATEST
from kschedctl.whatif.workload_pods import with_pods_of
from tests.builders import make_cluster, make_container, make_node, make_object

APP = {"app": "web"}
SCRATCH = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}
TEMPLATE = {"metadata": {"labels": APP}, "spec": {"containers": [make_container()], "volumes": [SCRATCH]}}
SPEC = {"selector": {"matchLabels": APP}, "template": TEMPLATE}


def test_every_replica_has_claims_of_its_own_and_they_share_their_controller() -> None:
    owner = make_object(ReplicaSet, "web", namespace="shop", spec={**SPEC, "replicas": 2})
    cluster, n_added = with_pods_of(make_cluster(nodes=[make_node()]), owner, release=LATEST)
    assert n_added == 2
    names = [name for _, name in cluster.pods.index]
    assert [claim.name for claim in cluster.list(PersistentVolumeClaim)] == [f"{name}-scratch" for name in names]
    assert list(cluster.list(ReplicaSet)) == [owner]


@pytest.mark.parametrize("kind", [ReplicaSet, StatefulSet])
@pytest.mark.parametrize(
    ("replicas", "n_before", "number"), [(10_001, 0, "10,001"), (10_000, 1, "10,001"), (2**31 - 1, 0, "2,147,483,647")]
)
def test_the_number_of_pods_is_checked_before_any_is_created(
    kind: type[ApiObject], replicas: int, n_before: int, number: str
) -> None:
    owner = make_object(kind, "web", namespace="shop", spec={**SPEC, "replicas": replicas})
    with pytest.raises(ManifestError, match=f"{number} pods would be created one by one, and at most 10,000 can be"):
        with_pods_of(make_cluster(nodes=[make_node()]), owner, release=LATEST, n_before=n_before)


def test_pods_that_exist_do_not_count() -> None:
    owner = make_object(ReplicaSet, "web", namespace="shop", spec={**SPEC, "replicas": 20_001})
    _, n_added = with_pods_of(make_cluster(nodes=[make_node()]), owner, release=LATEST, n_there=20_000)
    assert n_added == 1

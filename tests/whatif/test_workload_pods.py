"""Pods that new workloads make."""

from __future__ import annotations

from kschedctl.api.volume import PersistentVolumeClaim
from kschedctl.api.workload import ReplicaSet
from kschedctl.releases.release import LATEST
from kschedctl.whatif.workload_pods import with_pods_of
from tests.builders import make_cluster, make_container, make_node, make_object

APP = {"app": "web"}
SCRATCH = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}
TEMPLATE = {"metadata": {"labels": APP}, "spec": {"containers": [make_container()], "volumes": [SCRATCH]}}


def test_every_replica_has_claims_of_its_own_and_they_share_their_controller() -> None:
    spec = {"selector": {"matchLabels": APP}, "replicas": 2, "template": TEMPLATE}
    owner = make_object(ReplicaSet, "web", namespace="shop", spec=spec)
    cluster, n_added = with_pods_of(make_cluster(nodes=[make_node()]), owner, release=LATEST)
    assert n_added == 2
    names = [name for _, name in cluster.pods.index]
    assert [claim.name for claim in cluster.list(PersistentVolumeClaim)] == [f"{name}-scratch" for name in names]
    assert list(cluster.list(ReplicaSet)) == [owner]

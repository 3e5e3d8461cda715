"""The claim asks for 1Gi, ReadWriteOnce."""

from __future__ import annotations

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.trials.persistentvolume.index import find_best_match, rejected_volumes
from tests.builders import make_claim, make_cluster, make_volume


def stored(*volumes: PersistentVolume) -> tuple[Cluster, PersistentVolumeClaim]:
    """The cluster and the claim in it, with an API server's defaults."""
    cluster = make_cluster((), (), make_claim(), *volumes)
    (claim,) = cluster.list(PersistentVolumeClaim)
    return cluster, claim


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        pytest.param([make_volume("large", size="9Gi"), make_volume("small", size="2Gi")], "small", id="the smallest"),
        pytest.param(
            [make_volume("small", modes=["ReadWriteOnce", "ReadOnlyMany"]), make_volume("large", size="9Gi")],
            "large",
            id="fewer access modes go before size",
        ),
        pytest.param(
            [make_volume("small"), make_volume("named", size="9Gi", claim="default/data", phase="Available")],
            "named",
            id="one that names the claim goes before size",
        ),
        pytest.param(
            [
                make_volume("few"),
                make_volume("named", claim="default/data", modes=["ReadWriteOnce", "ReadOnlyMany"], phase="Available"),
            ],
            "few",
            id="but not before fewer access modes",
        ),
    ],
)
def test_the_best_of_several_volumes(volumes: list[PersistentVolume], expected: str) -> None:
    cluster, claim = stored(*volumes)
    found = find_best_match(cluster, claim, None, delayed=False)
    assert found is not None
    assert found.name == expected
    others = rejected_volumes(cluster, claim, None, expected)
    assert [rejected.volume for rejected in others] == [v.name for v in volumes if v.name != expected]


def test_of_a_class_that_waits_only_a_volume_that_names_the_claim_is_taken() -> None:
    free, named = make_volume("free"), make_volume("named", claim="default/data", phase="Available")
    assert find_best_match(*stored(free), None, delayed=True) is None
    found = find_best_match(*stored(free, named), None, delayed=True)
    assert found is not None
    assert found.name == "named"

"""Trees of groups: their roots, their order, and groups that belong to no tree."""

from typing import Any

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_group_trees import Group, GroupForest, entity_key, tried_with
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.releases.release import RELEASES, Release
from kschedctl.objects.releases.rules import COMPOSITE_POD_GROUP
from tests.builders import make_cluster, make_object, make_pod, with_groups

#: The rules of 1.38 with and without trees.
TREES = with_groups("1.38", topology=True, **{COMPOSITE_POD_GROUP: True})
NO_TREES = with_groups("1.38", topology=True)


def groups(*made: str) -> list[Group]:
    """Return groups from short texts.

    ``job`` is a CompositePodGroup and ``workers/`` a PodGroup; ``workers/ < job`` has a parent. ``@3`` at the end is
    the day of creation.
    """
    found: list[Group] = []
    for text in made:
        text, _, day = text.partition("@")
        name, _, parent = (part.strip() for part in text.partition("<"))
        kind: type[Group] = PodGroup if name.endswith("/") else CompositePodGroup
        metadata: dict[str, Any] = {"name": name.rstrip("/"), "namespace": "default"}
        if day:
            metadata["creationTimestamp"] = f"2026-11-0{day}T00:00:00Z"
        spec = {"parentCompositePodGroupName": parent} if parent else {}
        found.append(make_object(kind, metadata["name"], metadata=metadata, spec=spec))
    return found


def forest_of(*made: str, release: Release = TREES) -> tuple[Cluster, GroupForest]:
    cluster = make_cluster([], [], *groups(*made))
    return cluster, GroupForest.of(cluster, release)


def names(found: Any) -> str:
    return " ".join(group.name for group in found)


@pytest.mark.parametrize(
    ("made", "without", "with_trees"),
    [
        pytest.param(["workers/"], "podgroup/default/workers", "podgroup/default/workers", id="no parent"),
        pytest.param(
            ["job", "workers/ < job"],
            "podgroup/default/workers",
            "compositepodgroup/default/job",
            id="a parent: its root with trees, the group itself without",
        ),
        pytest.param(
            ["all", "job < all", "workers/ < job"],
            "podgroup/default/workers",
            "compositepodgroup/default/all",
            id="a root two levels above",
        ),
        pytest.param(["workers/ < job"], "podgroup/default/workers", "", id="the parent is missing"),
        pytest.param(["job < all", "workers/ < job"], "podgroup/default/workers", "", id="a group above is missing"),
        pytest.param(["job/", "workers/ < job"], "podgroup/default/workers", "", id="a PodGroup is no parent"),
        pytest.param(["a < b", "b < a", "workers/ < a"], "podgroup/default/workers", "", id="a circle above"),
        pytest.param(["a < a", "workers/ < a"], "podgroup/default/workers", "", id="its own parent"),
        pytest.param(["job"], "", "", id="the group itself is missing"),
    ],
)
def test_root(made: list[str], without: str, with_trees: str) -> None:
    for release, expected in ((NO_TREES, without), (TREES, with_trees)):
        _, forest = forest_of(*made, release=release)
        root = forest.root("default", "workers")
        assert (entity_key(root) if root is not None else "") == expected


def test_parents_are_of_the_same_namespace() -> None:
    elsewhere = make_object(CompositePodGroup, "job", namespace="other")
    cluster = make_cluster([], [], *groups("workers/ < job"), elsewhere)
    forest = GroupForest.of(cluster, TREES)
    assert forest.root("default", "workers") is None
    assert forest.children(elsewhere) == ()


@pytest.mark.parametrize(
    ("made", "walk", "leaves"),
    [
        pytest.param(["job"], "job", "", id="nothing below"),
        pytest.param(
            ["job", "b/ < job@1", "a/ < job@2"], "job b a", "b a", id="the older one first, whatever its name"
        ),
        pytest.param(["job", "b/ < job@1", "a/ < job@1"], "job a b", "a b", id="of the same age by name"),
        pytest.param(["job", "a/ < job", "b/ < job@2"], "job b a", "b a", id="those without a time come last"),
        pytest.param(
            ["job", "b < job@1", "a/ < job@2", "d/ < b@4", "c/ < b@3"],
            "job b c d a",
            "c d a",
            id="the groups below one come before its younger siblings",
        ),
        pytest.param(["job", "job/ < job"], "job job", "job", id="a PodGroup of the same name"),
    ],
)
def test_order(made: list[str], walk: str, leaves: str) -> None:
    cluster, forest = forest_of(*made)
    root = cluster.get(CompositePodGroup, "job", "default")
    assert root is not None
    assert names(forest.walk(root)) == walk
    assert names(forest.leaves(root)) == leaves


def test_a_pod_group_has_no_groups_below_it() -> None:
    cluster, forest = forest_of("job", "job/ < job", "workers/ < job")
    group = cluster.get(PodGroup, "job", "default")
    assert group is not None
    assert forest.children(group) == ()
    assert names(forest.leaves(group)) == "job"


@pytest.mark.parametrize(
    ("made", "without", "with_trees"),
    [
        pytest.param(["workers/"], "workers", "workers", id="nothing above"),
        pytest.param(["all", "job < all", "workers/ < job"], "workers", "workers job all", id="up to the root"),
        pytest.param(["job < all", "workers/ < job"], "workers", "workers job", id="up to the last that exists"),
        pytest.param(["a < b", "b < a", "workers/ < a"], "workers", "workers a b", id="a circle: each group once"),
    ],
)
def test_upwards(made: list[str], without: str, with_trees: str) -> None:
    for release, expected in ((NO_TREES, without), (TREES, with_trees)):
        cluster, forest = forest_of(*made, release=release)
        group = cluster.get(PodGroup, "workers", "default")
        assert group is not None
        assert names(forest.upwards(group)) == expected


@pytest.mark.parametrize(
    ("release", "scheduled", "expected"),
    [
        pytest.param(TREES, False, "driver-0 workers-0 workers-1", id="of all leaves, in their order"),
        pytest.param(TREES, True, "workers-1", id="those on nodes only"),
        pytest.param(NO_TREES, False, "", id="without trees nothing is below a CompositePodGroup"),
    ],
)
def test_members(release: Release, scheduled: bool, expected: str) -> None:
    pods = [
        make_pod("workers-0", schedulingGroup={"podGroupName": "workers"}),
        make_pod("workers-1", schedulingGroup={"podGroupName": "workers"}, node="node"),
        make_pod("driver-0", schedulingGroup={"podGroupName": "driver"}),
        make_pod("alone"),
    ]
    made = groups("job", "workers/ < job@2", "driver/ < job@1")
    cluster = make_cluster([], pods, *made)
    found = GroupForest.of(cluster, release).members(cluster, made[0], scheduled=scheduled)
    assert " ".join(cluster.pods.pod(index).name for index in found.tolist()) == expected


MEMBER = make_pod("workers-0", schedulingGroup={"podGroupName": "workers"})


@pytest.mark.parametrize(
    ("made", "without", "with_trees"),
    [
        pytest.param(["workers/"], "PodGroup workers", "PodGroup workers", id="a group of its own"),
        pytest.param(["job", "workers/ < job"], "PodGroup workers", "CompositePodGroup job", id="a tree"),
        pytest.param(["workers/ < job"], "PodGroup workers", "PodGroup workers", id="a tree without its root"),
        pytest.param([], "PodGroup workers", "PodGroup workers", id="a group that does not exist"),
    ],
)
def test_tried_with(made: list[str], without: str, with_trees: str) -> None:
    cluster = make_cluster([], [MEMBER], *groups(*made))
    for release, expected in ((NO_TREES, without), (TREES, with_trees)):
        kind, name = expected.split()
        assert tried_with(cluster, release, MEMBER) == (kind, "default", name)


def test_pods_that_are_tried_alone() -> None:
    cluster = make_cluster([], [MEMBER], *groups("job", "workers/ < job"))
    assert tried_with(cluster, RELEASES["1.38"], MEMBER) is None
    assert tried_with(cluster, TREES, make_pod("alone")) is None

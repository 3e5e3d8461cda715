"""Volumes of csi.example.com, each bound to a claim of its name; on nodes a, b and c."""

from typing import Any

import numpy as np
import pytest

from kschedctl.cluster.overlay import Overlay
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import VolumeAttachment
from kschedctl.scheduler.volumes.attachments import NO_POD, Attachments
from tests.builders import make_claim, make_cluster, make_csi_node, make_node, make_object, make_pod, make_volume, mount

DRIVER = "csi.example.com"
NODES = ("a", "b", "c")


def disk(name: str) -> list[ApiObject]:
    source = {"csi": {"driver": DRIVER, "volumeHandle": name}}
    return [make_claim(name, bound=f"pv-{name}"), make_volume(f"pv-{name}", claim=f"default/{name}", source=source)]


def user(name: str, *claims: str, node: str = "") -> Pod:
    return make_pod(name, node=node, volumes=mount(*claims))


def broken(name: str, node: str) -> Pod:
    """A pod with a disk that no CSI driver takes."""
    return make_pod(name, node=node, volumes=[{"name": "disk", "azureDisk": {"diskURI": name, "kind": "Shared"}}])


def attached(volume: str, node: str) -> VolumeAttachment:
    spec = {"attacher": DRIVER, "nodeName": node, "source": {"persistentVolumeName": f"pv-{volume}"}}
    return make_object(VolumeAttachment, f"{volume}-{node}", spec=spec)


def attachments(*pods_and_objects: Any) -> tuple[Attachments, Overlay]:
    """The table over pods p0, p1, ... and some objects, and the worlds of all nodes."""
    pods = [thing for thing in pods_and_objects if isinstance(thing, Pod)]
    others = [thing for thing in pods_and_objects if not isinstance(thing, Pod)]
    disks = [obj for name in ("one", "two", "three") for obj in disk(name)]
    csi_nodes = [make_csi_node(node, limits={DRIVER: 5}) for node in NODES]
    cluster = make_cluster([make_node(node) for node in NODES], pods, *disks, *csi_nodes, *others)
    return Attachments(cluster, portworx_needs_annotation=True), cluster.overlay()


def rows(table: Attachments) -> list[str]:
    """The table in words: who has which volume on which node."""
    name = {number: handle for (_, handle), number in table.number.items()}
    who = ["object" if pod == NO_POD else f"p{pod}" for pod in table.pod.tolist()]
    what = [name.get(volume, table.problems[volume]) for volume in table.volume.tolist()]
    where = ["-" if node < 0 else NODES[node] for node in table.node.tolist()]
    return [" ".join(row) for row in zip(who, what, where, strict=True)]


def by_node(table: Attachments, worlds: Overlay, *, objects: bool = False) -> list[str]:
    """Per node the volumes that its pods, or VolumeAttachments, attach to it."""
    numbers, _ = table.of_drivers((DRIVER,))
    found = (table.by_objects if objects else table.by_pods)(worlds, numbers)
    name = {number: handle for (_, handle), number in table.number.items()}
    held = {name[number]: found.holds(number) for number in numbers.tolist()}
    return [" ".join(handle for handle in held if held[handle][i]) for i in range(len(worlds))]


def test_a_row_per_pod_and_volume_behind_those_of_volume_attachments() -> None:
    table, _ = attachments(user("p0", "one", "two", node="a"), user("p1", "one"), attached("three", "c"))
    assert rows(table) == ["object three c", "p0 one a", "p0 two a", "p1 one -"]
    assert len(table.number) == 3


def test_a_volume_that_cannot_be_counted_has_a_number_for_each_row() -> None:
    table, worlds = attachments(broken("p0", "b"), user("p1", "one", node="b"), broken("p2", "b"), broken("p3", "c"))
    problem = "converting volume(disk) from inline to csi: kind(Shared) is not supported in csi migration"
    assert rows(table) == [f"p0 {problem} b", "p1 one b", f"p2 {problem} b", f"p3 {problem} c"]
    assert table.volume.tolist() == [0, 1, 2, 3]
    assert table.problem_in_worlds(worlds).tolist() == [-1, 0, 3]
    assert by_node(table, worlds) == ["", "one", ""]


def test_pods_and_objects_apart_and_together() -> None:
    table, worlds = attachments(user("p0", "one", "two", node="a"), attached("one", "a"), attached("three", "c"))
    assert by_node(table, worlds) == ["one two", "", ""]
    assert by_node(table, worlds, objects=True) == ["one", "", "three"]
    numbers, group = table.of_drivers((DRIVER,))
    both = table.by_pods(worlds, numbers) | table.by_objects(worlds, numbers)
    assert both.count(group, 1).tolist() == [[2, 0, 1]]
    assert both.first().tolist() == [0, -1, 2]


@pytest.mark.parametrize(
    ("removed", "added", "expected"),
    [
        pytest.param([], [], ["one", "one two", ""], id="as it is"),
        pytest.param([0], [], ["", "one two", ""], id="the only user goes"),
        pytest.param([1], [], ["one", "one", ""], id="one of two users goes: the shared volume stays"),
        pytest.param([], [(3, 2)], ["one", "one two", "one three"], id="a pending pod comes"),
        pytest.param([1, 2], [(3, 1)], ["one", "one three", ""], id="pods go and another comes"),
    ],
)
def test_worlds(removed: list[int], added: list[tuple[int, int]], expected: list[str]) -> None:
    table, worlds = attachments(
        user("p0", "one", node="a"),
        user("p1", "one", "two", node="b"),
        user("p2", "one", node="b"),
        user("p3", "one", "three"),
        attached("two", "c"),
    )
    for pod in removed:
        worlds.remove(np.array([0 if pod == 0 else 1]), np.array([pod]))
    for pod, world in added:
        worlds.add(np.array([world]), np.array([pod]))
    assert by_node(table, worlds) == expected
    assert by_node(table, worlds, objects=True) == ["", "", "two"]

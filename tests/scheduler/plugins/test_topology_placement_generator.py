from __future__ import annotations

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.interface import PluginError
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo
from tests.builders import make_cluster, make_members, make_node, make_pod_group, with_groups

RACK = "example.com/rack"
NODES = [
    make_node("b1", labels={RACK: "b"}),
    make_node("a1", labels={RACK: "a"}),
    make_node("none"),
    make_node("b2", labels={RACK: "b"}),
    make_node("empty", labels={RACK: ""}),
]


def placements(version: str, pods: list[Pod], key: str = RACK, group: bool = True) -> dict[str, str]:
    """Return the names of the placements' nodes by placement, in order."""
    pod_group = make_pod_group(topology_key=key)
    cluster = make_cluster(NODES, pods, *([pod_group] if group else []))
    framework = Scheduler(cluster, with_groups(version, topology=True)).framework("default-scheduler")
    info = PodGroupInfo("default", "gang", pod_group if group else None, ())
    names = cluster.nodes.names
    return {each.name: " ".join(names[row] for row in each.rows) for each in framework.run_placement_generate(info)}


@pytest.mark.parametrize("version", ["1.36", "1.37"])
@pytest.mark.parametrize(
    ("key", "pods", "expected"),
    [
        pytest.param("", [], {"": "b1 a1 none b2 empty"}, id="without a constraint all nodes are one"),
        pytest.param(
            RACK,
            [],
            {"": "empty", "a": "a1", "b": "b1 b2"},
            id="one per value by name, an empty one too, not the nodes without the label",
        ),
        pytest.param("example.com/row", [], {}, id="no node has the label"),
        pytest.param(RACK, make_members("m", node="b2"), {"b": "b1 b2"}, id="a member on a node ties the group to it"),
        pytest.param(RACK, make_members("m n", node="b1"), {"b": "b1 b2"}, id="two members in one domain"),
        pytest.param(
            RACK,
            make_members("m", node="a1", group="other"),
            {"": "empty", "a": "a1", "b": "b1 b2"},
            id="members of other groups do not",
        ),
        pytest.param(
            RACK, make_members("m"), {"": "empty", "a": "a1", "b": "b1 b2"}, id="members without a node do not"
        ),
    ],
)
def test_placements(key: str, pods: list[Pod], expected: dict[str, str], version: str) -> None:
    found = placements(version, pods, key)
    assert found == expected
    assert list(found) == sorted(found)


UNDETERMINED = "cannot determine domain for already scheduled pods: "


@pytest.mark.parametrize(
    ("pods", "problem"),
    [
        pytest.param(
            make_members("m", node="none"),
            f"{UNDETERMINED}no topology domain found for pod default/m",
            id="a member's node has no label",
        ),
        pytest.param(
            make_members("m", node="a1") + make_members("n", node="b1"),
            f"{UNDETERMINED}more than 1 domain found for pod group: a, b",
            id="members in two domains",
        ),
        pytest.param(
            make_members("m", node="gone"),
            f'{UNDETERMINED}getting node for pod default/m: nodeinfo not found for node name "gone"',
            id="a member on a node that is gone",
        ),
    ],
)
def test_errors(pods: list[Pod], problem: str) -> None:
    with pytest.raises(PluginError) as caught:
        placements("1.37", pods)
    assert str(caught.value) == problem


def test_a_group_that_is_gone_is_an_error() -> None:
    with pytest.raises(PluginError) as caught:
        placements("1.37", [], group=False)
    assert str(caught.value) == 'podgroup.scheduling.k8s.io "gang" not found'

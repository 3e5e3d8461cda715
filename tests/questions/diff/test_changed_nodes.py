"""Changes of nodes between two snapshots for which pods fit nowhere, and the ways to take them back."""

from typing import Any

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.choice import choose_release
from kschedctl.questions.diff.analysis import DiffRequest, diff
from kschedctl.questions.diff.answer import Diff
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.builders import make_cluster, make_node, make_pod

NVME = {"disk": "nvme"}
POOL = {"example.com/pool": "data"}
HAD = [make_node(name, labels={**NVME, **POOL}) for name in ("a", "b")]
ZONES = {
    "maxSkew": 1,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "db"}},
}
SQL = "dedicated=sql:NoSchedule"
PUT = "put label disk=nvme into the definition of node pool data ({})"
BY_HAND = "label {} with disk=nvme by hand (kubectl label node)"
TOLERATE = f"tolerate {SQL} in the template of default/db, if they belong on a and b"
TAKE = f"take the taint {SQL} out of the definition of node pool data (a and b)"


def loaded(path: str, nodes: list[Any], *pods: Pod) -> LoadedCluster:
    cluster = make_cluster([*nodes, make_node("other", labels={"example.com/pool": "web"})], pods)
    snapshot = Snapshot(cluster=cluster, paths=(path,), scheduler_config=None, left_out={})
    return LoadedCluster(snapshot, choose_release("1.36", "", ()))


def db(name: str, node: str = "", **spec: Any) -> Pod:
    return make_pod(name, node=node, **{"nodeSelector": NVME, **spec})


def compared(before: list[Any], after: list[Any], new: str = "db", path: str = "after", **spec: Any) -> Diff:
    one, other = (
        loaded("before", before, db("a", **spec)),
        loaded(path, after, make_pod(new, **{"nodeSelector": NVME, **spec})),
    )
    return diff(one, DiffRequest.of(one, other), AnalysisHandle())


def changed(*names: str, **fields: Any) -> list[Any]:
    return [make_node(name, **{"labels": {**NVME, **POOL}, **fields}) for name in names]


@pytest.mark.parametrize(
    ("before", "after", "options", "cause", "cures"),
    [
        pytest.param(
            HAD,
            changed("a", "b", labels=POOL),
            {},
            "a and b lost the label disk=nvme",
            [PUT.format("a and b"), BY_HAND.format("a and b")],
            id="a label is lost",
        ),
        pytest.param(
            HAD,
            changed("c", labels=POOL),
            {},
            "c lost the label disk=nvme",
            [PUT.format("c"), BY_HAND.format("c")],
            id="nodes of the pool have other names",
        ),
        pytest.param(
            HAD,
            changed("a", "b", labels={**POOL, "disk": "hdd"}),
            {"new": "db-2"},
            "a and b changed the label disk from nvme to hdd",
            [PUT.format("a and b"), BY_HAND.format("a and b")],
            id="a new pod, and another value",
        ),
        pytest.param(
            HAD, changed("a", "b", taints=[SQL]), {}, f"a and b got the taint {SQL}", [TOLERATE, TAKE], id="a new taint"
        ),
        pytest.param(
            HAD,
            changed("a", "b", taints=["node.kubernetes.io/not-ready:NoSchedule"]),
            {},
            "a and b got the taint node.kubernetes.io/not-ready:NoSchedule",
            ["wait until node.kubernetes.io/not-ready is taken off a and b, or repair what keeps it"],
            id="the taint of a component",
        ),
        pytest.param(
            HAD,
            changed("a", "b", labels=POOL, taints=[SQL]),
            {},
            f"a and b lost the label disk=nvme and got the taint {SQL}",
            [PUT.format("a and b"), BY_HAND.format("a and b"), TOLERATE, TAKE],
            id="a label and a taint",
        ),
        pytest.param(
            changed("a", cpu="8"),
            changed("a", cpu="4"),
            {"requests": {"cpu": "6"}},
            "a went from 8 to 4 allocatable cpu",
            [
                "bring 8 cpu back in the definition of node pool data (a): its machine type, or what it "
                "reserves for the system"
            ],
            id="less cpu",
        ),
        pytest.param(
            changed("a", allocatable={"example.com/gpu": "2"}),
            changed("a"),
            {"requests": {"example.com/gpu": "1"}},
            "a went from 2 to 0 allocatable example.com/gpu",
            ["repair the device plugin for example.com/gpu on a"],
            id="no devices",
        ),
        pytest.param(
            HAD,
            changed("a", "b", unschedulable=True),
            {},
            "a and b became unschedulable (cordoned)",
            ["uncordon a and b once the work on it is done"],
            id="a cordon",
        ),
    ],
)
def test_changes_of_nodes(
    before: list[Any], after: list[Any], options: dict[str, Any], cause: str, cures: list[str]
) -> None:
    answer = compared(before, after, **options)
    told = f"{cause}, and default/{options.get('new', 'db')} fits nowhere else"
    assert [each.cause for each in answer.causes] == [told]
    assert f" {told}." in answer.summary
    assert [each.summary for each in answer.suggestions] == cures
    assert all("is scheduled to" in each.then or each.untried for each in answer.suggestions)


@pytest.mark.parametrize(
    ("before", "after", "options"),
    [
        pytest.param(HAD, HAD, {}, id="nothing changes"),
        pytest.param(HAD, [], {}, id="the pool is gone"),
        pytest.param(HAD, changed("c", labels={}), {}, id="a node of no pool"),
        pytest.param(HAD, changed("a", "b", labels={**NVME}), {}, id="a label that no pod selects"),
        pytest.param(HAD, changed("a", labels=POOL) + changed("b"), {}, id="another node is left"),
        pytest.param(
            HAD, changed("a", "b", labels=POOL, cpu="1"), {"requests": {"cpu": "2"}, "path": "before"}, id="one"
        ),
    ],
)
def test_nodes_are_not_the_cause(before: list[Any], after: list[Any], options: dict[str, Any]) -> None:
    answer = compared(before, after, **options)
    assert (answer.causes, answer.suggestions) == ((), ())


def test_the_commands_label_the_nodes() -> None:
    _, by_hand = compared(HAD, changed("a", "b", labels=POOL)).suggestions
    assert by_hand.commands == ("kubectl label node a b disk=nvme --overwrite",)
    assert by_hand.then == (
        "default/db is scheduled to one of a and b; it holds until the nodes are recreated by the next upgrade"
    )


def test_a_running_pod_that_would_fit_nowhere_names_the_label_and_so_does_a_lost_zone() -> None:
    one, other = (
        loaded("before", HAD, db("a", node="a")),
        loaded("after", changed("a", "b", labels=POOL), db("a", node="a")),
    )
    answer = diff(one, DiffRequest.of(one, other, ["default/a"]), AnalysisHandle())
    assert "a and b lost the label disk=nvme, and default/a fits nowhere else." in answer.summary
    spread: dict[str, Any] = {"topologySpreadConstraints": [ZONES], "nodeSelector": POOL, "labels": {"app": "db"}}
    zoned = [make_node("a", zone="x", labels=POOL), make_node("b", zone="x", labels=POOL)]
    answer = compared(zoned, changed("a", "b", labels=POOL), **spread)
    assert "a and b lost the label topology.kubernetes.io/zone=x" in answer.summary

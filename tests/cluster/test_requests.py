from kschedctl.objects.resources import RequestRules
from tests.builders import GPU, make_cluster, make_node, make_pod


def test_what_nodes_offer_and_pods_request() -> None:
    cluster = make_cluster(
        [make_node("a", offers={GPU: 2}), make_node("b", cpu="500m", memory=None)],
        [make_pod("p", node="a", requests={"cpu": "1", "hugepages-2Mi": "4Mi"}), make_pod("q", node="a")],
    )
    columns = cluster.resources(RequestRules())
    assert columns.names == ("cpu", "memory", "ephemeral-storage", "pods", GPU, "hugepages-2Mi")
    assert columns.allocatable[columns.index["cpu"]].tolist() == [4000, 500]
    assert columns.allocatable[columns.index["memory"]].tolist() == [8 << 30, 0]
    assert columns.allocatable[columns.index[GPU]].tolist() == [2, 0]
    assert columns.requested[columns.index["cpu"]].tolist() == [1000, 0]
    assert columns.requested[columns.index["pods"]].tolist() == [2, 0]
    assert columns.requested[columns.index["hugepages-2Mi"]].tolist() == [4 << 20, 0]
    # One pod counts with the default of 100m.
    assert columns.non_zero_requested[0].tolist() == [1100, 0]


def test_columns_are_made_once_per_set_of_rules() -> None:
    cluster = make_cluster([make_node()])
    assert cluster.resources(RequestRules()) is cluster.resources(RequestRules())
    assert cluster.resources(RequestRules()) is not cluster.resources(RequestRules(pod_level=False))

from typing import Any

import pytest

from kschedctl.objects.releases.release import RELEASES
from tests.builders import GPU, decide, make_args, make_cluster, make_node, make_pod, raw_scores

PLUGIN = "NodeResourcesBalancedAllocation"
THREE = make_args(
    NodeResourcesBalancedAllocation={
        "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}, {"name": GPU, "weight": 1}]
    }
)


def score(
    version: str, used: dict[str, Any], requests: dict[str, Any], config: dict[str, Any] | None = None
) -> dict[str, int] | None:
    node = make_node(cpu="10", memory="10Gi", offers={GPU: 10})
    cluster = make_cluster([node], [make_pod("running", node="node", requests=used)])
    return raw_scores(decide(make_pod(requests=requests), cluster, release=RELEASES[version], config=config), PLUGIN)


@pytest.mark.parametrize(
    ("used", "requests", "with_pod", "change"),
    [
        # Shares of CPU and memory; balance = 100 * (1 - |cpu - memory| / 2); change = 50 + (50 + with - without) // 2.
        pytest.param({}, {"cpu": "1", "memory": "1Gi"}, 100, 75, id="even stays even: 50 + (50 + 100 - 100) // 2"),
        pytest.param({}, {"cpu": "5"}, 75, 62, id="0.5 and 0: 50 + (50 + 75 - 100) // 2"),
        pytest.param({"cpu": "5"}, {"memory": "5Gi"}, 100, 87, id="evens out: 50 + (50 + 100 - 75) // 2"),
        pytest.param({"cpu": "5"}, {"cpu": "5"}, 50, 62, id="1 and 0: 50 + (50 + 50 - 75) // 2"),
        pytest.param({"cpu": "3", "memory": "6Gi"}, {"cpu": "1"}, 90, 77, id="0.4 and 0.6: 50 + (50 + 90 - 85) // 2"),
    ],
)
def test_two_resources(used: dict[str, Any], requests: dict[str, Any], with_pod: int, change: int) -> None:
    assert score("1.35", used, requests) == {"node": with_pod}
    assert score("1.36", used, requests) == {"node": change}


@pytest.mark.parametrize(
    ("requests", "with_pod", "change"),
    [
        # The standard deviation of the three shares; without the pod all are 0 and the balance is 100.
        pytest.param({"cpu": "3", "memory": "3Gi", GPU: 3}, 100, 75, id="even"),
        pytest.param({"cpu": "6", "memory": "3Gi", GPU: 3}, 85, 67, id="0.6 0.3 0.3: deviation 0.1414"),
        pytest.param({"cpu": "9", "memory": "6Gi", GPU: 3}, 75, 62, id="0.9 0.6 0.3: deviation 0.2449"),
        pytest.param({"cpu": "9", "memory": "3Gi"}, 70, 60, id="a device nobody asks for is left out: 0.9 0.3"),
    ],
)
def test_three_resources(requests: dict[str, Any], with_pod: int, change: int) -> None:
    assert score("1.35", {}, requests, THREE) == {"node": with_pod}
    assert score("1.36", {}, requests, THREE) == {"node": change}


@pytest.mark.parametrize(
    ("requests", "config"),
    [
        pytest.param({}, None, id="a pod without requests"),
        pytest.param({GPU: 1}, None, id="a pod that requests other resources"),
    ],
)
def test_skips(requests: dict[str, Any], config: dict[str, Any] | None) -> None:
    assert score("1.36", {}, requests, config) is None


def test_requests_are_counted_as_they_are_without_defaults() -> None:
    # Running pods without requests count as nothing: shares 0.5 and 0.
    assert score("1.35", {}, {"cpu": "5"}) == {"node": 75}


def test_shares_end_at_one() -> None:
    cluster = make_cluster([make_node(cpu="1", memory="10Gi")], [make_pod("r", node="node", requests={"cpu": "9"})])
    decision = decide(make_pod(requests={"memory": "10Gi"}), cluster, release=RELEASES["1.35"])
    assert raw_scores(decision, PLUGIN) == {"node": 100}


@pytest.mark.parametrize(
    ("used", "old", "new"),
    [
        # Of 10 CPU and 7Ei memory; the pod requests 5 CPU. The shares of memory are at most 1.
        pytest.param(["4Ei", "3Ei"], 87, 87, id="share 1: 50 + (50 + 75 - 50) // 2"),
        pytest.param(["4Ei", "4Ei"], 62, 87, id="2^63 bytes: in 1.37 -2^63, share -8/7: 50 + (50 + 17 - 42) // 2"),
    ],
)
def test_sums_of_huge_requests(used: list[str], old: int, new: int) -> None:
    pods = [make_pod(f"p{i}", node="node", requests={"memory": memory}) for i, memory in enumerate(used)]
    cluster = make_cluster([make_node(cpu="10", memory="7Ei")], pods)
    pod = make_pod(requests={"cpu": "5"})
    found = {
        version: raw_scores(decide(pod, cluster, release=RELEASES[version]), PLUGIN) for version in ("1.37", "1.38")
    }
    assert found == {"1.37": {"node": old}, "1.38": {"node": new}}

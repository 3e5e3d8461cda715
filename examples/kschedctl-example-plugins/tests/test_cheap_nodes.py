import numpy as np
import pytest
from kschedctl_example_plugins.cheap_nodes import CheapNodes, CheapNodesArgs

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.testing.contract import ContractCheck, plugin_checks
from kschedctl.testing.probe import PluginSubject

LABEL = "price"


@pytest.mark.parametrize("check", plugin_checks(CheapNodes, args=CheapNodesArgs(label=LABEL)), ids=str)
def test_contract(check: ContractCheck) -> None:
    check()


@pytest.mark.parametrize(
    ("prices", "raw", "scores"),
    [
        pytest.param(["0.1", "0.4"], [100, 400], [75, 0], id="100 - 100 x 100 / 400"),
        pytest.param(["0.1", "0.3"], [100, 300], [67, 0], id="the quotient is cut off: 100 - 33"),
        pytest.param(["0.1", "", "0.4"], [100, -1, 400], [75, 0, 0], id="without a price it is the dearest"),
        pytest.param(["0.1", "free", "-3"], [100, -1, -1], [0, 0, 0], id="what is no price is none"),
        pytest.param(["0", "0.0005"], [0, 0], [100, 100], id="less than a thousandth is nothing"),
        pytest.param(["", ""], [-1, -1], [100, 100], id="no prices at all"),
    ],
)
def test_scores(prices: list[str], raw: list[int], scores: list[int]) -> None:
    builder = ClusterBuilder()
    for i, price in enumerate(prices):
        builder.add(Node(metadata=ObjectMeta(name=f"n{i}", labels={LABEL: price} if price else {})))
    cluster = builder.build()
    plugin = PluginSubject(CheapNodes, CheapNodesArgs(label=LABEL), LATEST).over(cluster)
    assert isinstance(plugin, CheapNodes)
    given = plugin.score(CycleState(), Pod(), np.arange(len(prices)))
    assert given.tolist() == raw
    assert plugin.normalize_score(CycleState(), Pod(), given).tolist() == scores

"""Questions that take long."""

from __future__ import annotations

import kschedctl
from kschedctl.analyses.handle import AnalysisHandle
from kschedctl.answers.diff import Diff
from kschedctl.requests.cluster import ClusterRequest, ClusterSource
from kschedctl.web.questions.asked import Asked
from kschedctl.web.questions.simulations import CompareQuery, compare
from tests.cli.transcript import ROOT

SHOP = str(ROOT / "fixtures/shop/cluster")


def test_the_rules_of_a_comparison_are_those_of_the_server() -> None:
    cluster = kschedctl.load(SHOP, kubernetes_version="1.34")
    other = ClusterRequest(source=ClusterSource(paths=(SHOP,)), kubernetes_version="1.34")
    answer = compare(cluster, Asked(CompareQuery(), compare=(other,)), AnalysisHandle())
    assert isinstance(answer, Diff)
    assert [side.rules.kubernetes_version for side in (answer.before, answer.after)] == ["1.34", "1.34"]

"""The document of nodes."""

from __future__ import annotations

from kschedctl.questions.presentation.frame import View
from kschedctl.questions.presentation.nodes import overview_document
from tests.builders import make_cluster, make_loaded, make_node
from tests.questions.presentation.printing import lines


def test_a_soft_taint_keeps_no_pod_away() -> None:
    nodes = [make_node("soft", taints=["a:PreferNoSchedule"]), make_node("hard", taints=["b:NoExecute"])]
    printed = lines(overview_document(make_loaded(make_cluster(nodes)).nodes_overview(), View()))
    assert printed[0].startswith("2 nodes; free on the 1 node that needs no toleration")
    rows = [line.split()[:3] for line in printed if line.startswith(("  soft", "  hard"))]
    assert rows == [["hard", "unknown,", "tainted"], ["soft", "unknown", "4/4"]]

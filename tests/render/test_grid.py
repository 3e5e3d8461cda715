"""Tables in little room: nothing is lost, and no word is broken."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest

from kschedctl.presentation.document import Table, table
from tests.presentation.printing import lines

WIDTHS = (20, 30, 40, 60, 80)
GKE = [f"gke-prod-eu-west1-default-pool-3f7c1d2e-{end}" for end in ("x9qz", "b2kk")]
AWS = [f"ip-10-123-{end}.eu-central-1.compute.internal" for end in ("45-67", "4-200")]
PLUGINS = ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "PodTopologySpread x2", "InterPodAffinity x2")


def scores(names: list[str]) -> Table:
    rows = [(name, "634", "87", "91", "200", "0") for name in names]
    return table(("node", "score", *PLUGINS), rows, numeric=range(1, 6), names_split=True, identifiers=(0,))


def nodes(names: list[str]) -> Table:
    why = "taint node.kubernetes.io/unschedulable:NoSchedule is not tolerated"
    return table(
        ("node", "verdict", "why"), [(name, "no", (why, "also: cordoned")) for name in names], identifiers=(0,)
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("names", [GKE, AWS, ["node-1", "node-2"]], ids=["gke", "aws", "short"])
@pytest.mark.parametrize("make", [scores, nodes])
def test_every_word_of_every_cell_is_there(make: Callable[[list[str]], Table], names: list[str], width: int) -> None:
    shown = make(names)
    text = "\n".join(lines([shown], width))
    cut = re.search(r"node: (\S*)\*(\S*)\n", text)
    for row in shown.rows:
        (name,), *others = row
        if cut:
            assert cut[1] + name[len(cut[1]) : len(name) - len(cut[2])] + cut[2] == name
            assert name[len(cut[1]) : len(name) - len(cut[2])] in text.split()
        else:
            assert name in text.split()
        wanted = Counter(word for cell in others for line in cell for word in line.split())
        assert not wanted - Counter(text.split())


@pytest.mark.parametrize(("names", "width"), [(GKE, 80), (AWS, 80), (GKE, 60), (AWS, 60)])
def test_lines_are_no_longer_than_the_terminal(names: list[str], width: int) -> None:
    assert max(map(len, lines([nodes(names)], width))) <= width


def test_ladder_of_layouts() -> None:
    assert lines([scores(GKE)], 70)[0] == "  node: gke-prod-eu-west1-default-pool-3f7c1d2e-*"
    assert lines([scores(GKE)], 30)[:4] == [
        "  node:",
        "    gke-prod-eu-west1-default-pool-3f7c1d2e-x9qz",
        "    score: 634",
        "    NodeResourcesFit: 87",
    ]

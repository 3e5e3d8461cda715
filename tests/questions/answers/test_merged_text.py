"""A line about many nodes contains only facts that hold for all of them."""

from __future__ import annotations

import pytest

from kschedctl.questions.answers.merged_text import together


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        pytest.param(["free 0.1 of 4", "free 1.6 of 4"], "free 0.1 to 1.6 of 4", id="numbers become a range"),
        pytest.param(["free 900Mi", "free 2Gi"], "free 900Mi to 2Gi", id="numbers with units"),
        pytest.param(
            ["has model=P100, free 1", "has model=T4, free 3", "has model=T4, free 2"],
            "has model=T4 (2) or P100 (1), free 1 to 3",
            id="values are named with how many nodes have each",
        ),
        pytest.param(
            [f"has model=M{n}" for n in (1, 1, 1, 2, 2, 3, 4, 5)],
            "has model=M1 (3), M2 (2), M3 (1) or 2 others (2)",
            id="only the commonest values are named",
        ),
        pytest.param(
            ["wants a=x, node has a=y", "wants a=x, node has no a", "wants a=x, node has no a"],
            "wants a=x, node has no a (2) or a=y (1)",
            id="phrases of different length",
        ),
        pytest.param(
            ["claim data is on pv-1 in zone a", "claim data is on pv-1 in zone b"],
            "claim data is on pv-1 in zone a (1) or b (1)",
            id="claim and zone are kept",
        ),
        pytest.param(
            ["one thing", "another matter altogether", "one thing"],
            "one thing (2 nodes; 1 with another reason)",
            id="what has nothing in common is not said of all",
        ),
        pytest.param(
            [
                "wants 1 gpu (2 here, 1 free)",
                "wants 1 gpu (2 here); 1 by claim a (x, 1 free)",
                "wants 1 gpu (2 here, 1 free)",
            ],
            "wants 1 gpu (2 here, 1 free) (2 nodes; 1 with another reason)",
            id="a part of another clause is no value",
        ),
        pytest.param(["the same", "the same"], "the same", id="nothing differs"),
    ],
)
def test_only_what_holds_for_all_is_said(texts: list[str], told: str) -> None:
    assert together(texts) == told

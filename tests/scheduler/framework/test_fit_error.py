from __future__ import annotations

from collections import Counter

import pytest

from kschedctl.scheduler.framework.fit_error import fit_error


@pytest.mark.parametrize(
    ("pre_filter", "reasons", "post_filter", "text"),
    [
        pytest.param("", {}, "", "0/12 nodes are available:", id="nothing to say"),
        pytest.param("", {"b": 2, "a": 2}, "", "0/12 nodes are available: 2 a, 2 b.", id="sorted"),
        pytest.param("", {"a": 2, "b": 10}, "", "0/12 nodes are available: 10 b, 2 a.", id="as texts"),
        pytest.param("no", {"a": 1}, "", "0/12 nodes are available: no.", id="PreFilter stands for all nodes"),
        pytest.param("", {"a": 1}, "preemption: x", "0/12 nodes are available: 1 a. preemption: x", id="PostFilter"),
    ],
)
def test_wording(pre_filter: str, reasons: dict[str, int], post_filter: str, text: str) -> None:
    found = fit_error(12, pre_filter=pre_filter, reasons=Counter(reasons), post_filter=post_filter)
    assert found == text

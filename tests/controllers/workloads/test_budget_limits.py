"""The arithmetic of disruption budgets: the number of pods with which one can be evicted."""

from __future__ import annotations

import pytest

from kschedctl.controllers.workloads.budget_limits import always_forbids, desired_healthy, enough_pods, forbids


@pytest.mark.parametrize(
    ("field", "value", "n", "forbidden", "desired", "enough"),
    [
        pytest.param("minAvailable", 1, 1, True, 1, 2, id="one replica"),
        pytest.param("minAvailable", 1, 2, False, 1, 2, id="one of two"),
        pytest.param("minAvailable", "50%", 1, True, 1, 2, id="half of one rounds up to it"),
        pytest.param("minAvailable", "67%", 3, True, 3, 4, id="67 % of 3 rounds up to 3"),
        pytest.param("minAvailable", "100%", 3, True, 3, None, id="all, for any number of pods"),
        pytest.param("maxUnavailable", 0, 3, True, 3, None, id="none, for any number of pods"),
        pytest.param("maxUnavailable", "10%", 3, False, 2, 3, id="10 % of 3 rounds up to 1"),
        pytest.param("maxUnavailable", 1, 1, False, 0, 1, id="one of one"),
    ],
)
def test_limits(field: str, value: int | str, n: int, forbidden: bool, desired: int, enough: int | None) -> None:
    assert forbids(field, value, n) is forbidden
    assert desired_healthy(field, value, n) == desired
    assert enough_pods(field, value, n) == enough
    assert always_forbids(field, value) is (enough is None)

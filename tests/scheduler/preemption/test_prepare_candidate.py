"""Side effects of choosing a candidate."""

from __future__ import annotations

import pytest

from tests.builders import make_pod
from tests.scheduler.preemption.small_clusters import preempt, running


@pytest.mark.parametrize(
    ("fields", "losing"),
    [
        pytest.param({"priority": 1, "nominated": "a"}, True, id="of lower priority"),
        pytest.param({"priority": 100, "nominated": "a"}, False, id="of equal priority"),
        pytest.param({"priority": 1, "nominated": "b"}, False, id="nominated to another node"),
    ],
)
def test_who_loses_the_nomination(fields: dict[str, object], losing: bool) -> None:
    waiting = make_pod("waiting", **fields)  # type: ignore[arg-type]
    found = preempt([running("low", "a", "4"), running("other", "b", "4"), waiting], nodes=("a", "b"))
    assert found.loses_nomination("a") == ((2,) if losing else ())

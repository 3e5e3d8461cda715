"""The table of topology domains."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kschedctl.answers.explain import ReasonData
from kschedctl.framework.operands import Operands
from kschedctl.framework.status import Reason
from kschedctl.plugins.pod_topology_spread.filtering import SkewTooHigh
from kschedctl.plugins.topology import NoTopologyLabel
from kschedctl.presentation.explain.domains import domains_section
from tests.presentation.printing import lines

SKEW = SkewTooHigh("zone", "a", matching=2, minimum=0, skew=3, max_skew=1)


def printed(operands: Operands) -> list[str]:
    blocks = domains_section([ReasonData.of("PodTopologySpread", Reason("", operands))])
    return [" ".join(line.split()) for line in lines(blocks, 100)]


@pytest.mark.parametrize(
    ("domains", "words", "rows"),
    [
        pytest.param({"b": 0, "a": 2}, "allowed", ["a 2 this node's", "b 0 fewest"], id="two-domains"),
        pytest.param({"a": 2}, "allowed (the minimum counts as 0)", ["a 2 this node's, fewest"], id="too-few-domains"),
    ],
)
def test_domains_are_listed_with_their_counts(domains: dict[str, int], words: str, rows: list[str]) -> None:
    table = printed(replace(SKEW, domains=domains))
    assert table[1] == f"Matching pods by zone: with this pod the skew is 3, maxSkew 1 is {words}"
    assert table[2:] == ["zone pods", *rows]


def test_reasons_without_domains_have_no_table() -> None:
    assert printed(SKEW) == []
    assert printed(NoTopologyLabel("zone")) == []

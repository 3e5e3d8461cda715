"""Suggestions of similar names for an unknown name."""

import pytest

from kschedctl.common.wording import similar

NAMES = ("web-1", "web-7", "metrics-server-1", "db", "node-1", "node-9")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        pytest.param("web-77", ["web-7"], id="the nearest alone"),
        pytest.param("web", ["web-1", "web-7"], id="the start"),
        pytest.param("metrics", ["metrics-server-1"], id="the start of a long one"),
        pytest.param("nod-1", ["node-1"], id="a letter short"),
        pytest.param("foo", [], id="nothing near"),
        pytest.param("", [], id="empty"),
    ],
)
def test_similar_names(name: str, meant: list[str]) -> None:
    assert similar(name, NAMES) == meant

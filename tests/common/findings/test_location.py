from __future__ import annotations

import pytest

from kschedctl.common.findings.location import Location


@pytest.mark.parametrize(
    ("location", "text"),
    [
        pytest.param(Location("prod/pods.yaml", 14), "prod/pods.yaml, document 14", id="document"),
        pytest.param(Location("prod/pods.yaml", 14, 3), "prod/pods.yaml, document 14, item 3", id="item-of-a-list"),
        pytest.param(Location("dump.tar.gz:nodes.json"), "dump.tar.gz:nodes.json, document 1", id="archive-member"),
    ],
)
def test_a_location_reads_like_a_place(location: Location, text: str) -> None:
    assert str(location) == text

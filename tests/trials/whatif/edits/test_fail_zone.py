"""``--fail-zone`` as it is written; what it makes of a cluster is in ``tests/trials/whatif/test_editing.py``."""

from __future__ import annotations

import pytest

from kschedctl.trials.whatif.edits import FailZone

READ = {
    "eu-1a": FailZone("eu-1a"),
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert FailZone.parse(text, "shop") == READ[text]

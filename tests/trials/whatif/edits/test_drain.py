"""``--drain`` as it is written; what it makes of a cluster is in ``tests/trials/whatif/test_editing.py``."""

from __future__ import annotations

import pytest

from kschedctl.trials.whatif.edits import Drain

READ = {
    "node-1": Drain("node-1"),
    "gke-*": Drain("gke-*"),
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert Drain.parse(text, "shop") == READ[text]

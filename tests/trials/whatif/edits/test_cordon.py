"""``--cordon`` as it is written; what it makes of a cluster is in ``tests/trials/whatif/test_editing.py``."""

from __future__ import annotations

import pytest

from kschedctl.trials.whatif.edits import Cordon

READ = {
    "node-1": Cordon("node-1"),
    "gke-*": Cordon("gke-*"),
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert Cordon.parse(text, "shop") == READ[text]

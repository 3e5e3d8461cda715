"""``--set-replicas`` as it is written; what it makes of a cluster is in ``tests/trials/whatif/test_editing.py``."""

import pytest

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edits import SetReplicas

READ = {"deploy/web=9": SetReplicas("deploy", "web", 9, "shop"), "sts/shop/db=0": SetReplicas("sts", "db", 0, "shop")}
WRONG = {
    "deploy/web": "has no number of replicas",
    "deploy/web=-1": "has no number of replicas",
    "web=1": "names no object",
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert SetReplicas.parse(text, "shop") == READ[text]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        SetReplicas.parse(text, "shop")
    assert WRONG[text] in str(caught.value)

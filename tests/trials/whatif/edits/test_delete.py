"""``--delete`` as it is written; what it makes of a cluster is in ``tests/trials/whatif/test_editing.py``."""

import pytest

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edits import Delete

READ = {
    "pod/web-1": Delete("pod", "web-1", "shop"),
    "Pods/shop/web-1": Delete("Pods", "web-1", "shop"),
    "deployments.apps/web": Delete("deployments.apps", "web", "shop"),
    "no/node-1": Delete("no", "node-1", ""),
}
WRONG = {
    "web-1": "names no object",
    "pod/": "names no object",
    "pod//web": "names no object",
    "pod/a/b/c": "names no object",
    "pot/a": '"pot" is not a kind that kschedctl reads',
    "node/shop/a": "a Node has no namespace",
    "pod/other/web": "names another namespace than -n shop",
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert Delete.parse(text, "shop") == READ[text]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Delete.parse(text, "shop")
    assert WRONG[text] in str(caught.value)

"""``--apply`` as it is written; what it makes of a cluster is in ``tests/trials/whatif/test_editing.py``."""

from pathlib import Path

import pytest

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.cluster_edits import split_source
from kschedctl.trials.whatif.edits import Apply

READ = {"a*b.yaml": ("a*b.yaml", None), "-*2": ("-", 2), "a*2*3": ("a*2", 3)}
MANIFEST = """
apiVersion: v1
kind: Node
metadata: {name: a}
---
apiVersion: v1
kind: Service
metadata: {name: web}
"""


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert split_source(text) == READ[text]
    assert Apply.sources(text) == (READ[text][0],)


def test_copies_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(InputError, match="0 copies cannot be made"):
        Apply.parse("a*0")


def test_the_objects_of_the_file_are_in_the_namespace_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(MANIFEST)
    edit = Apply.parse(f"{file}*2", "shop")
    assert [(obj.name, obj.namespace) for obj, _ in edit.objects] == [("a", ""), ("web", "shop")]
    assert (edit.copies, str(edit)) == (2, f"apply {file}*2")

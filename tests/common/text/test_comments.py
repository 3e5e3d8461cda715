"""Comments of a YAML text."""

from __future__ import annotations

import pytest

from kschedctl.common.text.comments import comments


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# head\na: 1 # one\n", ["# head", "# one"]),
        ("a: 'x # y'\nb: x#y\nc: \"# z\"\n", []),
        ("a: |\n  # in the text\nb: 1\n# end", ["# end"]),
        (
            "a: [1, # first\n  2]  # list\n---\n# next\nb:\r\n  # inside\r\n",
            ["# first", "# list", "# next", "# inside"],
        ),
        ("", []),
    ],
)
def test_the_comments_of_a_text(text: str, found: list[str]) -> None:
    assert [comment.text for comment in comments(text)] == found
    assert [text[comment.start :][: len(comment.text)] for comment in comments(text)] == found

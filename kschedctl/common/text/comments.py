"""Comments of a YAML text."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

_COMMENT: Final = re.compile(r"#[^\r\n]*")


class Comment(NamedTuple):
    """A comment: its offset in characters, and its text with the ``#``, without trailing blanks."""

    start: int
    text: str


def comments(text: str) -> list[Comment]:
    r"""Return the comments of a YAML text, in their order.

    Raises
    ------
    yaml.YAMLError
        If the text is not valid YAML.

    Examples
    --------
    >>> [comment.text for comment in comments("a: 1 # one\nb: '# no comment'\n# end")]
    ['# one', '# end']
    """
    import yaml

    marks = [(token.start_mark.index, token.end_mark.index) for token in yaml.scan(text, Loader=yaml.CBaseLoader)]
    # Between two tokens there are only blanks and comments.
    gaps = ((end, start) for (_, end), (start, _) in pairwise([(0, 0), *marks, (len(text), len(text))]))
    return [
        Comment(found.start(), found[0].rstrip())
        for end, start in gaps
        for found in _COMMENT.finditer(text, end, start)
    ]

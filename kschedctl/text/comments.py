"""Comments of a YAML text."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Final

_COMMENT: Final = re.compile(r"#[^\r\n]*")


def comments(text: str) -> Counter[str]:
    r"""Return the comments of a YAML text, with the number of times that each occurs.

    Raises
    ------
    yaml.YAMLError
        If the text is not valid YAML.

    Examples
    --------
    >>> comments("a: 1 # one\nb: '# no comment'\n# end")
    Counter({'# one': 1, '# end': 1})
    """
    import yaml

    marks = [(token.start_mark.index, token.end_mark.index) for token in yaml.scan(text, Loader=yaml.CBaseLoader)]
    # Between two tokens there are only blanks and comments.
    gaps = (text[end:start] for (_, end), (start, _) in pairwise([(0, 0), *marks, (len(text), len(text))]))
    return Counter(found.rstrip() for gap in gaps for found in _COMMENT.findall(gap))

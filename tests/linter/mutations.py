"""Manifests with comments at random places, for property tests of repairs."""

import re
from typing import Final

from hypothesis import strategies as st

#: A line with a key and at most a plain value in block style, after which a comment changes no value.
_KEY: Final = re.compile(r"^( *)(- )*[A-Za-z./-]+:( [^|>&*'\"#]*)?$")
_BLOCK_SCALAR: Final = re.compile(r"[|>][-+0-9]*$")


@st.composite
def commented(draw: st.DrawFn, text: str) -> str:
    """Return a text with comments before, beside and after random lines, and with either kind of line ends."""
    out: list[str] = []
    scalar = -1
    for number, line in enumerate(text.splitlines()):
        indent = len(line) - len(line.lstrip())
        if scalar >= 0 and (not line.strip() or indent > scalar):
            out.append(line)
            continue
        scalar = indent if _BLOCK_SCALAR.search(line) else -1
        where = draw(st.sampled_from(["", "", "before", "beside", "after"])) if _KEY.fullmatch(line) else ""
        pad = " " * (indent + draw(st.sampled_from([0, 2]))) if where else ""
        out += [f"{pad}# before {number}"] if where == "before" else []
        out.append(f"{line}  # beside {number}" if where == "beside" else line)
        out += [f"{pad}# after {number}"] if where == "after" else []
    return draw(st.sampled_from(["\n", "\n", "\r\n"])).join([*out, ""])

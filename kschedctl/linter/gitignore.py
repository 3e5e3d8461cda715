"""The patterns of a ``.gitignore`` file, with git's meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

NAME: Final = ".gitignore"
#: The parts of a segment: a range of characters, an escape, plain text, or one other character.
_PART: Final = re.compile(r"(?P<range>\[[!^]?\]?[^\]]*\])|\\(?P<literal>.)|(?P<plain>[^*?\[\\]+)|(?P<one>.)", re.DOTALL)
_DEEP: Final = "**"
#: The largest number of ``**`` in a pattern, as each multiplies the time to match a path; other patterns match nothing.
_MOST_DEEP: Final = 4


class _Pattern(NamedTuple):
    path: re.Pattern[str]
    #: False for a pattern that begins with ``!``: paths that it matches are not ignored.
    ignores: bool
    only_folders: bool


@dataclass(frozen=True, slots=True)
class GitIgnore:
    """The patterns of one file, last first, as the last one that matches decides."""

    patterns: tuple[_Pattern, ...]

    @classmethod
    def of(cls, text: str) -> GitIgnore:
        """Parse the text of a ``.gitignore`` file."""
        lines = (line.rstrip("\r") for line in text.split("\n"))
        found = [pattern for line in lines if (pattern := _pattern(line)) is not None]
        return cls(tuple(reversed(found)))

    def ignores(self, path: str, *, is_folder: bool) -> bool | None:
        """Report whether a path is ignored; ``None`` if no pattern matches it.

        Parameters
        ----------
        path : str
            The path relative to the folder of the file, with ``/``.
        is_folder : bool
            True if the path is that of a folder.

        Examples
        --------
        >>> patterns = GitIgnore.of("build/" + chr(10) + "*.tmp.yaml" + chr(10) + "!keep.tmp.yaml")
        >>> patterns.ignores("a/build", is_folder=True), patterns.ignores("a/build", is_folder=False)
        (True, None)
        >>> patterns.ignores("a/x.tmp.yaml", is_folder=False), patterns.ignores("keep.tmp.yaml", is_folder=False)
        (True, False)
        """
        for pattern in self.patterns:
            if (is_folder or not pattern.only_folders) and pattern.path.fullmatch(path):
                return pattern.ignores
        return None


def _pattern(line: str) -> _Pattern | None:
    bare = line.rstrip(" ")
    if bare.endswith("\\") and bare != line:
        bare += " "
    if not bare or bare.startswith("#"):
        return None
    negated = bare.startswith("!")
    bare = bare[negated:]
    only_folders = bare.endswith("/")
    bare = bare.removesuffix("/")
    # Several ``**`` in a row mean the same as one.
    segments = [segment for segment, _ in groupby(bare.removeprefix("/").split("/"))]
    if not bare or segments.count(_DEEP) > _MOST_DEEP:
        return None
    # A pattern with a slash is relative to the folder of the file; any other matches at every depth.
    depth = "" if "/" in bare else "(?:.*/)?"
    try:
        return _Pattern(re.compile(depth + _regex(segments), re.DOTALL), not negated, only_folders)
    except re.error:
        # git, too, matches nothing with a range that is not valid.
        return None


def _regex(segments: Sequence[str]) -> str:
    last = len(segments) - 1
    found = ""
    for index, segment in enumerate(segments):
        if segment != _DEEP:
            found += _segment(segment) + ("/" if index < last else "")
        elif index < last:
            found += "(?:.*/)?"
        else:
            found += ".+" if index else ".*"
    return found


def _segment(text: str) -> str:
    """Return the expression for a pattern without slashes."""
    first, *others = _between_stars(text)
    if not others:
        return first
    # The shortest match of every part but the last is final: without that, time would grow exponentially with ``*``.
    return first + "".join(f"(?>[^/]*?{part})" for part in others[:-1]) + f"[^/]*{others[-1]}"


def _between_stars(text: str) -> list[str]:
    parts = [""]
    for part in _PART.finditer(text):
        if part["one"] == "*":
            parts.append("")
        elif part["one"] == "?":
            parts[-1] += "[^/]"
        elif part["range"] is not None:
            parts[-1] += _range(part["range"])
        else:
            parts[-1] += re.escape(part["literal"] or part["plain"] or part["one"])
    return parts


def _range(text: str) -> str:
    negation = "^/" if text[1] in "!^" else ""
    inner = text[1 + bool(negation) : -1].replace("[", r"\[")
    return f"[{negation}{inner}]"

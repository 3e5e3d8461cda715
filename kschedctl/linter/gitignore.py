"""The patterns of a ``.gitignore`` file, with git's meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

NAME: Final = ".gitignore"
#: The parts of a pattern, longest first: folders of any depth, a range of characters, an escape, or one character.
_PART: Final = re.compile(
    r"(?P<deep>(?:^|/)\*\*(?:/|$))|(?P<range>\[[!^]?\]?[^\]]*\])|\\(?P<literal>.)|(?P<one>.)", re.S
)
_TRAILING_BLANKS: Final = re.compile(r"(?<!\\) +$")


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
    line = _TRAILING_BLANKS.sub("", line)
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    bare = line[negated:]
    only_folders = bare.endswith("/")
    bare = bare.removesuffix("/")
    # A pattern with a slash is relative to the folder of the file; any other matches at every depth.
    depth = "" if "/" in bare else "(?:.*/)?"
    try:
        path = re.compile(depth + _regex(bare.removeprefix("/")), re.DOTALL)
    except re.error:
        # git, too, matches nothing with a range that is not valid.
        return None
    return _Pattern(path, not negated, only_folders) if bare else None


def _regex(pattern: str) -> str:
    # Several ``**`` in a row mean the same as one.
    pattern = re.sub(r"(?<![^/])(?:\*\*/)+", "**/", pattern)
    return "".join(_part(part, pattern) for part in _PART.finditer(pattern))


def _part(part: re.Match[str], pattern: str) -> str:
    text = part[0]
    if part["deep"] is not None:
        return _deep(text, is_first=part.start() == 0, is_last=part.end() == len(pattern))
    if part["range"] is not None:
        negation = "^/" if text[1] in "!^" else ""
        inner = text[1 + bool(negation) : -1].replace("[", r"\[")
        return f"[{negation}{inner}]"
    if part["literal"] is not None:
        return re.escape(part["literal"])
    return {"*": "[^/]*", "?": "[^/]"}.get(text, re.escape(text))


def _deep(text: str, *, is_first: bool, is_last: bool) -> str:
    """Return the expression for ``**/``, ``/**/`` or ``/**``, which begins and ends with the slashes of the text."""
    if is_last:
        return ".*" if is_first else "/.+"
    return "(?:.*/)?" if is_first and not text.startswith("/") else "/(?:.*/)?"

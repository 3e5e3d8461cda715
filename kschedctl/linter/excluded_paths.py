"""The paths that lint leaves out: files that git ignores, dependencies, and the ``exclude`` of the settings."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

# The patterns of a ``.gitignore`` file, with git's meaning.

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
    def of(cls, text: str) -> "GitIgnore":
        """Parse the text of a ``.gitignore`` file."""
        lines = (line.rstrip("\r") for line in text.split("\n"))
        found = [pattern for line in lines if (pattern := _pattern(line)) is not None]
        return cls(tuple(reversed(found)))

    def ignores(self, path: str, *, is_folder: bool) -> bool | None:
        """Report whether a path is ignored; ``None`` if no pattern matches it.

        Args:
            path: The path relative to the folder of the file, with ``/``.
            is_folder: True if the path is that of a folder.

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
        last = len(segments) - 1
        found = ""
        for index, segment in enumerate(segments):
            if segment != _DEEP:
                found += _segment(segment) + ("/" if index < last else "")
            elif index < last:
                found += "(?:.*/)?"
            else:
                found += ".+" if index else ".*"
        return _Pattern(re.compile(depth + found, re.DOTALL), not negated, only_folders)
    except re.error:
        # git, too, matches nothing with a range that is not valid.
        return None


def _segment(text: str) -> str:
    """Return the expression for a pattern without slashes."""
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
    first, *others = parts
    if not others:
        return first
    # The shortest match of every part but the last is final: without that, time would grow exponentially with ``*``.
    return first + "".join(f"(?>[^/]*?{part})" for part in others[:-1]) + f"[^/]*{others[-1]}"


def _range(text: str) -> str:
    negation = "^/" if text[1] in "!^" else ""
    inner = text[1 + bool(negation) : -1].replace("[", r"\[")
    return f"[{negation}{inner}]"


#: The folders in which package managers and other tools store the code of others.
_DEPENDENCIES: Final = frozenset(
    ("node_modules", "vendor", ".terraform", ".terragrunt-cache", ".venv", ".tox", ".nox", ".direnv", ".cache")
)
_SETTINGS: Final = "exclude in the settings"
#: The reasons for leaving out a path.
REASONS: Final = frozenset((*_DEPENDENCIES, NAME, _SETTINGS))


def path_matches(name: str, glob: str, folder: Path) -> bool:
    """Report whether a glob matches a file: its path relative to ``folder``, a folder that contains it, or its name.

    ``*`` also matches ``/``.
    """
    path = Path(name).absolute()
    root = folder.absolute()
    relative = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
    bare = glob.removeprefix("./").rstrip("/")
    return fnmatchcase(relative, bare) or fnmatchcase(relative, f"{bare}/*") or fnmatchcase(path.name, bare)


class ExcludedPaths:
    """The paths that are left out where they are found in a folder; paths that the user names are always read.

    Args:
        globs: The globs of the settings, as in ``path_matches``.
        folder: The folder that the globs are relative to.
    """

    def __init__(self, globs: Sequence[str], folder: Path) -> None:
        self._globs = globs
        self._folder = folder
        self._patterns: dict[str, GitIgnore | None] = {}

    def below(self, root: str) -> Callable[[str, bool], str]:
        """Return the function that gives the reason for leaving out a path below `root`; empty if it is read.

        Its second argument is true for a folder.
        """
        top = os.path.abspath(root)
        above = _up_to_repository(top)
        # If git ignores the folder that the user names, its content is meant nevertheless.
        known = [] if self._is_ignored(top, above[1:], is_folder=True) else above[1:]
        return partial(self._reason_for_leaving_out, top, known)

    def _reason_for_leaving_out(self, top: str, above: Sequence[str], path: str, is_folder: bool) -> str:
        if is_folder and os.path.basename(path) in _DEPENDENCIES:
            return os.path.basename(path)
        if any(path_matches(path, glob, self._folder) for glob in self._globs):
            return _SETTINGS
        whole = os.path.abspath(path)
        found = [os.path.dirname(whole)]
        while found[-1] != top and len(found[-1]) > len(top):
            found.append(os.path.dirname(found[-1]))
        return NAME if self._is_ignored(whole, [*found, *above], is_folder=is_folder) else ""

    def _is_ignored(self, path: str, folders: Sequence[str], *, is_folder: bool) -> bool:
        """Report whether git ignores a path by the files in some folders, nearest first: the first match decides."""
        for folder in folders:
            if folder not in self._patterns:
                file = Path(folder, NAME)
                try:
                    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
                except OSError:
                    text = ""
                self._patterns[folder] = GitIgnore.of(text) if text else None
            patterns = self._patterns[folder]
            if patterns is None:
                continue
            found = patterns.ignores(os.path.relpath(path, folder).replace(os.sep, "/"), is_folder=is_folder)
            if found is not None:
                return found
        return False


def _up_to_repository(folder: str) -> list[str]:
    """Return a folder and those above it up to the root of its repository; the folder alone if it is in none."""
    found = [Path(folder), *Path(folder).parents]
    for n, each in enumerate(found, 1):
        if (each / ".git").exists():
            return list(map(str, found[:n]))
    return [folder]

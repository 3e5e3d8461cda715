"""The paths that lint leaves out: files that git ignores, dependencies, and the ``exclude`` of the settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Final

from kschedctl.linter import gitignore
from kschedctl.linter.gitignore import GitIgnore

#: The folders in which package managers store the code of others.
_DEPENDENCIES: Final = frozenset(("node_modules", "vendor"))
_SETTINGS: Final = "exclude in the settings"
#: The reasons for leaving out a path.
REASONS: Final = frozenset((*_DEPENDENCIES, gitignore.NAME, _SETTINGS))


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

    Parameters
    ----------
    globs : sequence of str
        The globs of the settings, as in ``path_matches``.
    folder : Path
        The folder that the globs are relative to.
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
        return partial(self._why, top, known)

    def _why(self, top: str, above: Sequence[str], path: str, is_folder: bool) -> str:
        if is_folder and os.path.basename(path) in _DEPENDENCIES:
            return os.path.basename(path)
        if any(path_matches(path, glob, self._folder) for glob in self._globs):
            return _SETTINGS
        whole = os.path.abspath(path)
        folders = [*_between(top, whole), *above]
        return gitignore.NAME if self._is_ignored(whole, folders, is_folder=is_folder) else ""

    def _is_ignored(self, path: str, folders: Sequence[str], *, is_folder: bool) -> bool:
        """Report whether git ignores a path by the files in some folders, nearest first: the first match decides."""
        for folder in folders:
            patterns = self._patterns_in(folder)
            if patterns is None:
                continue
            found = patterns.ignores(os.path.relpath(path, folder).replace(os.sep, "/"), is_folder=is_folder)
            if found is not None:
                return found
        return False

    def _patterns_in(self, folder: str) -> GitIgnore | None:
        if folder not in self._patterns:
            file = Path(folder, gitignore.NAME)
            try:
                text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
            except OSError:
                text = ""
            self._patterns[folder] = GitIgnore.of(text) if text else None
        return self._patterns[folder]


def _up_to_repository(folder: str) -> list[str]:
    """Return a folder and those above it up to the root of its repository; the folder alone if it is in none."""
    found = [Path(folder), *Path(folder).parents]
    for n, each in enumerate(found, 1):
        if (each / ".git").exists():
            return list(map(str, found[:n]))
    return [folder]


def _between(top: str, path: str) -> list[str]:
    """Return the folders from that of a path up to `top`, both included."""
    found = [os.path.dirname(path)]
    while found[-1] != top and len(found[-1]) > len(top):
        found.append(os.path.dirname(found[-1]))
    return found

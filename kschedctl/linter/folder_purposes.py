"""Folders whose manifests are not applied as they are: tests, published releases, and manifests of the past."""

import re
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePath
from typing import Final, NamedTuple


class Purpose(StrEnum):
    """The purpose of the manifests of a folder, as in "manifests of ..."."""

    TESTS = "tests"
    RELEASES = "published releases"
    PAST = "the past"


_WORDS_BEFORE: Final = r"\.?(?:[A-Za-z0-9]+[-_.])*"
_WORDS_AFTER: Final = r"(?:[-_.](?:cases?|data|fixtures?|manifests?|resources?|suites?))*"
#: The names of folders by purpose. The outermost folder of a path that has one decides.
_NAMES: Final = {
    Purpose.TESTS: re.compile(
        rf"{_WORDS_BEFORE}(?:__tests__|tests?|testdata|e2e|fixtures?|chainsaw|kuttl){_WORDS_AFTER}", re.IGNORECASE
    ),
    Purpose.RELEASES: re.compile(rf"{_WORDS_BEFORE}v?[0-9]+\.[0-9]+(?:[-_.+A-Za-z0-9]*)"),
    Purpose.PAST: re.compile(
        r"(?:.*[-_.])?(?:old|legacy|deprecated|obsolete|archived?|attic|unmaintained)(?:[-_.].*)?", re.IGNORECASE
    ),
}
#: The names of folders with a folder per environment, of which one may be named ``test``.
_ENVIRONMENTS: Final = re.compile(r"(?:overlays?|env|envs|environments?|clusters?|stages?|namespaces?)", re.IGNORECASE)
#: The name of a file with the manifests of a release, without its extension.
_RELEASE_FILE: Final = re.compile(r"(?:.*[-_])?v?[0-9]+\.[0-9]+\.[0-9]+(?:[-.+][-.+A-Za-z0-9]*)?")
_DIGIT: Final = re.compile(r"[0-9]")


class PurposeOfFolder(NamedTuple):
    """The purpose of the manifests of a folder."""

    purpose: Purpose
    #: The folder; for releases the folder that contains them.
    folder: str
    #: The glob of the folder, or of the releases in it.
    glob: str


@lru_cache(maxsize=1024)
def purpose_of(path: str) -> PurposeOfFolder | None:
    """Return the purpose of the manifests in a file; ``None`` if they may be applied as they are.

    Args:
        path: The path of the file below the folder that the user named: a folder that is named itself is meant.

    >>> [found and str(found.purpose) for found in map(purpose_of, ("a/test/b.yaml", "v1.2/b.yaml", "overlays/test/b"))]
    ['tests', 'published releases', None]
    """
    outermost_first = [*reversed(PurePath(path).parents)]
    for folder in outermost_first:
        for purpose, names in _NAMES.items():
            if names.fullmatch(folder.name) is None:
                continue
            if purpose is Purpose.RELEASES:
                return _release(folder)
            if purpose is not Purpose.TESTS or _ENVIRONMENTS.fullmatch(folder.parent.name) is None:
                return PurposeOfFolder(purpose, folder.as_posix(), folder.as_posix())
    file = PurePath(path)
    return _release(file) if _RELEASE_FILE.fullmatch(file.stem) else None


def _release(path: PurePath) -> PurposeOfFolder:
    """Return the folder of a release, whose name begins like those of the other releases beside it."""
    digit = _DIGIT.search(path.name)
    assert digit is not None
    pattern = f"{path.name[: digit.start()]}[0-9]*"
    return PurposeOfFolder(Purpose.RELEASES, path.parent.as_posix(), (path.parent / pattern).as_posix())

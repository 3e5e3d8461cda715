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
#: The kinds of tests. Another word before ``test`` probably names an application, whose environment is named so.
_KINDS_OF_TESTS: Final = (
    "acceptance|chainsaw|chaos|conformance|e2e|end[-_]to[-_]end|functional|integration|kuttl|load|perf|performance|"
    "regression|sanity|scale|smoke|soak|stress|system|unit|upgrade"
)
_TEST: Final = rf"(?:{_WORDS_BEFORE}(?:{_KINDS_OF_TESTS})[-_.]|\.)?(?:test|testing)"
#: A version of a release: two or three numbers, and a suffix. More numbers are an address.
_VERSION: Final = r"v?[0-9]+\.[0-9]+(?:\.(?:[0-9]+|x))?(?:[-_+.]?[A-Za-z][-_.+A-Za-z0-9]*|[-_+][-_.+A-Za-z0-9]*)?"
#: The words before a version in the name of a folder. Another one is probably an application's: ``postgres-15.4``.
_OF_RELEASES: Final = r"(?:[A-Za-z0-9]+[-_.])*(?:k8s|kube|kubernetes|rel|releases?|ver|versions?)[-_.]?"
#: The names of folders by purpose. The outermost folder of a path that has one decides.
_NAMES: Final = {
    Purpose.TESTS: re.compile(
        rf"(?:{_WORDS_BEFORE}(?:__tests__|tests|testdata|e2e|fixtures?|chainsaw|kuttl)|{_TEST}){_WORDS_AFTER}",
        re.IGNORECASE,
    ),
    Purpose.RELEASES: re.compile(rf"(?:{_OF_RELEASES})?{_VERSION}", re.IGNORECASE),
    Purpose.PAST: re.compile(
        r"(?:.*[-_.])?(?:old|legacy|deprecated|obsolete|archived?|attic|unmaintained)(?:[-_.].*)?", re.IGNORECASE
    ),
}
#: The names of folders with a folder per environment, of which one may be named ``test``.
_ENVIRONMENTS: Final = re.compile(r"(?:overlays?|env|envs|environments?|clusters?|stages?|namespaces?)", re.IGNORECASE)
#: The name of a file with the manifests of a release, without its extension.
_RELEASE_FILE: Final = re.compile(
    r"(?:.*[-_])?v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+][-.+A-Za-z0-9]*|\.[A-Za-z][-.+A-Za-z0-9]*)?"
)
_NUMBERS: Final = re.compile(r"[0-9]+\.[0-9]")


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
        path: The path of the file below the folder that the user named: a folder that is named itself is meant. Of a
            file that is named itself, as tools for commits do, the path below the current folder.

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
    numbers = _NUMBERS.search(path.name)
    assert numbers is not None
    pattern = f"{path.name[: numbers.start()]}[0-9]*"
    return PurposeOfFolder(Purpose.RELEASES, path.parent.as_posix(), (path.parent / pattern).as_posix())

"""The table of dependencies is complete and true, licences are allowed, and locked versions are those we require."""

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distribution
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.paths import ROOT
from tools import licences
from tools.dependencies_page import FOR_DEVELOPERS, FOR_USERS, for_developers, for_users
from tools.licences import PROJECT, PYPROJECT, is_allowed, licence_of, names, required

LOCK = ROOT / "requirements" / "dev.txt"
ROWS: dict[str, Mapping[str, Any]] = {**FOR_USERS, **FOR_DEVELOPERS}
#: The environment for which the versions are locked.
LINUX = {"python_version": "3.11", "python_full_version": "3.11.7", "sys_platform": "linux", "os_name": "posix"}


def locked() -> dict[str, Requirement]:
    """Return the locked packages by normalised name."""
    found = [Requirement(line) for line in re.findall(r"^([a-z].*?)(?: \\)?$", LOCK.read_text(), re.IGNORECASE | re.M)]
    return {canonicalize_name(each.name): each for each in found}


def test_every_requirement_has_a_row() -> None:
    assert list(FOR_USERS) == list(for_users())
    assert list(FOR_DEVELOPERS) == list(for_developers())


@pytest.mark.parametrize("name", ROWS)
def test_the_licence_of_a_row_is_that_of_the_package(name: str) -> None:
    # A wheel may name those of the libraries in it as well.
    assert names(ROWS[name]["licence"]) <= names(licence_of(distribution(name)))


def test_licences_of_what_users_install_are_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    assert licences.main() == 0
    printed = capsys.readouterr().out
    # Required by kubernetes and by litestar.
    assert re.search(r"^certifi +MPL-2.0$", printed, re.MULTILINE)
    assert re.search(r"^Faker +MIT$", printed, re.MULTILINE)
    assert "pytest" not in printed


def test_a_licence_that_is_not_allowed_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(licences, "ALLOWED", licences.ALLOWED - {"MPL-2.0"})
    assert licences.main() == 1
    marked = [line for line in capsys.readouterr().out.splitlines() if line.endswith("<- is not allowed")]
    assert [line.split()[0] for line in marked] == ["certifi"]


class Package(Distribution):
    """A package with this metadata."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("lines", "licence", "allowed"),
    [
        ("License-Expression: MIT AND (Apache-2.0 OR BSD-2-Clause)", "MIT AND (Apache-2.0 OR BSD-2-Clause)", True),
        ("License-Expression: MIT OR GPL-3.0-only", "MIT OR GPL-3.0-only", False),
        ("License-Expression: MIT\nLicense: GPL", "MIT", True),
        ("License: MIT License\n\n        Copyright", "MIT", True),
        ("License: Apache 2.0", "Apache-2.0", True),
        ("License: GPLv3", "GPLv3", False),
        ("Classifier: License :: OSI Approved :: BSD License", "BSD-3-Clause", True),
        ("Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)", "", False),
        ("Classifier: Typing :: Typed", "", False),
    ],
)
def test_how_packages_name_their_licence(lines: str, licence: str, allowed: bool) -> None:
    found = licence_of(Package(f"Metadata-Version: 2.4\nName: a\nVersion: 1\n{lines}\n"))
    assert found == licence or (not licence and not is_allowed(found))
    assert is_allowed(found) == allowed


def test_requirements_are_followed_with_their_extras() -> None:
    found = {canonicalize_name(package.name) for package in required(["mkdocstrings[python]"])}
    assert {"mkdocstrings", "mkdocstrings-python", "griffelib"} & found >= {"mkdocstrings", "mkdocstrings-python"}
    assert "mkdocstrings-python" not in {canonicalize_name(package.name) for package in required(["mkdocstrings"])}


def project_requirements() -> Iterator[Requirement]:
    """Yield what the project and its extra for development require, and what builds it."""
    extras = PROJECT["optional-dependencies"]
    waiting = [*PYPROJECT["build-system"]["requires"], *PROJECT["dependencies"], f"{PROJECT['name']}[dev]"]
    while waiting:
        requirement = Requirement(waiting.pop())
        if requirement.name == PROJECT["name"]:
            waiting += [each for extra in requirement.extras for each in extras[extra]]
        else:
            yield requirement


def test_locked_versions_are_those_that_the_project_requires() -> None:
    found = locked()
    wanted = [each for each in project_requirements() if each.marker is None or each.marker.evaluate(LINUX)]
    missing = [str(each) for each in wanted if canonicalize_name(each.name) not in found]
    assert not missing, "make lock adds them"
    pins = {name: next(iter(each.specifier)).version for name, each in found.items()}
    assert [str(each) for each in wanted if not each.specifier.contains(pins[canonicalize_name(each.name)])] == []


def test_every_locked_version_has_hashes_and_no_place() -> None:
    text = LOCK.read_text()
    for entry in re.split(r"^(?=[a-z])", text, flags=re.IGNORECASE | re.MULTILINE)[1:]:
        assert re.match(r"[\w.-]+==\S+ \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+    # via", entry), entry[:80]
    assert not re.search(r"://|^-|@", text, re.MULTILINE)
    assert "with Python 3.11\n" in text

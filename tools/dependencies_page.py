"""The reference section of docs/dependencies.md: the requirements in pyproject.toml, with purpose and licence.

It is the same whatever versions are installed. Purposes, licences and sizes are those of ``[tool.kschedctl]``; a test
compares the licences with the metadata of the installed packages.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.licences import ALLOWED, PROJECT, PYPROJECT

_EXTRAS: Final[Mapping[str, list[str]]] = PROJECT["optional-dependencies"]
_FOR_DEVELOPERS: Final = ("docs", "dev")
#: The rows of pyproject.toml, by the normalised names of packages.
FOR_USERS: Final[Mapping[str, Mapping[str, Any]]] = PYPROJECT["tool"]["kschedctl"]["dependencies"]
FOR_DEVELOPERS: Final[Mapping[str, Mapping[str, str]]] = PYPROJECT["tool"]["kschedctl"]["development-dependencies"]


def by_name(requirements: Mapping[str, Iterable[str]]) -> dict[str, tuple[Requirement, list[str]]]:
    """Return each package that is required with the groups of requirements that name it, by normalised name."""
    found: dict[str, tuple[Requirement, list[str]]] = {}
    for group, texts in requirements.items():
        for requirement in map(Requirement, texts):
            # An extra of the project names extras.
            if requirement.name != PROJECT["name"]:
                found.setdefault(canonicalize_name(requirement.name), (requirement, []))[1].append(group)
    return dict(sorted(found.items()))


def for_users() -> dict[str, tuple[Requirement, list[str]]]:
    """Return the requirements of the base and of the extras for users."""
    extras = {f"`{name}`": texts for name, texts in _EXTRAS.items() if name not in _FOR_DEVELOPERS}
    return by_name({"(base)": PROJECT["dependencies"], **extras})


def for_developers() -> dict[str, tuple[Requirement, list[str]]]:
    """Return the requirements of the extras for people who change the project."""
    return by_name({f"`{name}`": _EXTRAS[name] for name in _FOR_DEVELOPERS})


def reference() -> str:
    """Return the section as Markdown."""
    return "\n".join([*_users(), *_developers()])


def _users() -> Iterator[str]:
    yield from ("## For users", "", "| package | extra | for | licence | MB |", "|---|---|---|---|---:|")
    for name, (requirement, groups) in for_users().items():
        row = FOR_USERS[name]
        cells = (_shown(requirement), ", ".join(groups), row["for"], row["licence"], str(row["mb"]))
        yield f"| {' | '.join(cells)} |"
    allowed = ", ".join(sorted(ALLOWED))
    yield from (
        "",
        "MB is the size of the package with the packages that it requires and nothing else requires, rounded.",
    )
    yield from ("", "Allowed licences, also of the packages that these require:", f"{allowed}.")


def _developers() -> Iterator[str]:
    yield from ("", "## For development", "", "| package | extra | for | licence |", "|---|---|---|---|")
    for name, (requirement, groups) in for_developers().items():
        row = FOR_DEVELOPERS[name]
        cells = (_shown(requirement), ", ".join(groups), row["for"], row["licence"])
        yield f"| {' | '.join(cells)} |"


def _shown(requirement: Requirement) -> str:
    return f"`{requirement.name}{requirement.specifier}`"

"""The licences of all packages that a user can install with ``kschedctl``, compared with a list of allowed licences.

``make licences`` reads the metadata of the installed packages: those that the base and the extras require, and those
that they require in turn, on this platform.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PYPROJECT: Final[Mapping[str, Any]] = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
PROJECT: Final[Mapping[str, Any]] = PYPROJECT["project"]
#: Identifiers of SPDX. All of these allow to use and to distribute the package beside one of the Apache License.
ALLOWED: Final = frozenset(
    "0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MIT-0 MPL-2.0 PSF-2.0 Zlib".split()
)
#: The identifiers for licences that older metadata writes in words; "BSD" alone is the licence of three clauses in all
#: packages that are installed here.
_IN_WORDS: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_MIT: Final = "Permission is hereby granted, free of charge, to any person obtaining a copy"
_CLASSIFIER: Final = "License :: OSI Approved :: "
_OPERATORS: Final = re.compile(r" (?:AND|OR) |[()]")


def licence_of(package: Distribution) -> str:
    """Return the licence of a package as an expression of SPDX, or in its own words; empty if it names none."""
    metadata = package.metadata.json
    expression = str(metadata.get("license_expression", ""))
    # The field may have the whole text of the licence, whose first line names it; the MIT License is often without it.
    text = str(metadata.get("license", "")).strip()
    field = "MIT" if _MIT in text else text.partition("\n")[0]
    classifiers = [
        line.removeprefix(_CLASSIFIER) for line in metadata.get("classifier", ()) if line.startswith(_CLASSIFIER)
    ]
    found = expression or field or " OR ".join(_IN_WORDS.get(each, each) for each in classifiers)
    return _IN_WORDS.get(found, found)


def names(licence: str) -> set[str]:
    """Return the licences that an expression names."""
    return {each.strip() for each in _OPERATORS.split(licence)} - {""}


def is_allowed(licence: str) -> bool:
    """Report whether all licences of an expression are allowed; if there is a choice, too."""
    return bool(licence) and names(licence) <= ALLOWED


def required(requirements: Iterable[str]) -> Iterator[Distribution]:
    """Yield the installed packages that requirements lead to, directly or through other packages, each once.

    Raises
    ------
    PackageNotFoundError
        If a package is not installed.
    """
    waiting = [Requirement(each) for each in requirements]
    done: set[tuple[str, str]] = set()
    seen: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras} - {extra for of, extra in done if of == name}:
            done.add((name, extra))
            package = distribution(name)
            if name not in seen:
                seen.add(name)
                yield package
            inner = map(Requirement, package.requires or ())
            waiting += [each for each in inner if each.marker is None or each.marker.evaluate({"extra": extra})]


def of_users() -> list[str]:
    """Return the requirements of the base and of all extras for users."""
    extras = Requirement(PROJECT["optional-dependencies"]["all"][0]).extras
    return [*PROJECT["dependencies"], *(each for name in extras for each in PROJECT["optional-dependencies"][name])]


def main() -> int:
    """Print the licence of each package; return 1 if one is not allowed."""
    found = {package.name: licence_of(package) for package in required(of_users())}
    width = max(map(len, found))
    for name, licence in sorted(found.items(), key=lambda each: each[0].lower()):
        print(f"{name:{width}}  {licence or 'none'}{'' if is_allowed(licence) else '  <- is not allowed'}")
    return int(not all(map(is_allowed, found.values())))


if __name__ == "__main__":
    sys.exit(main())

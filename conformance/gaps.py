"""The list of recorded answers that kschedctl does not equal: cases, differing parts, and the missing feature."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

PATH: Final = Path(__file__).parents[1] / "tests" / "conformance" / "gaps.toml"

_HEADER: Final = """\
# Recorded answers that are not equal yet. A case that is listed and equal, or differs in other parts, fails the run.
# Rewritten by: make gaps
"""


class Gap(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """The cases of one release and theme that miss the same feature and differ in the same parts."""

    release: str
    theme: str
    needs: str
    parts: tuple[str, ...]
    cases: tuple[str, ...]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    gap: list[Gap] = []


def read(path: Path = PATH) -> list[Gap]:
    """Return all listed gaps.

    Raises
    ------
    msgspec.ValidationError
        If the file does not have the expected form.
    """
    return msgspec.convert(tomllib.loads(path.read_text()), _File).gap


def listed(theme: str, version: str, gaps: Iterable[Gap]) -> dict[str, Gap]:
    """Return the listed gaps of a theme and release, by case."""
    return {case: gap for gap in gaps if (gap.theme, gap.release) == (theme, version) for case in gap.cases}


def write(gaps: Iterable[Gap], path: Path = PATH) -> None:
    """Write the list."""
    path.write_text("\n".join([_HEADER, *map(_table, sorted(gaps))]))


def _table(gap: Gap) -> str:
    cases = "".join(f"    {_quoted(gap.cases[i : i + 5])},\n" for i in range(0, len(gap.cases), 5))
    return (
        f'[[gap]]\nrelease = "{gap.release}"\ntheme = "{gap.theme}"\nneeds = "{gap.needs}"\n'
        f"parts = [{_quoted(gap.parts)}]\ncases = [\n{cases}]\n"
    )


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def grouped(found: Mapping[tuple[str, str, str], tuple[str, tuple[str, ...]]]) -> list[Gap]:
    """Group the gaps of single cases.

    Parameters
    ----------
    found : mapping
        (release, theme, case) -> the missing feature, and the parts that differ.
    """
    groups: dict[tuple[str, str, str, tuple[str, ...]], list[str]] = {}
    for (release, theme, case), (needs, parts) in found.items():
        groups.setdefault((release, theme, needs, parts), []).append(case)
    return [Gap(*key, cases=tuple(sorted(cases))) for key, cases in groups.items()]

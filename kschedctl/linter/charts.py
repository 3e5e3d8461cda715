"""Files that are templates of manifests: of Helm charts, and others that are filled in before they are YAML."""

from __future__ import annotations

from functools import cache
from pathlib import PurePath
from typing import Final

from kschedctl.linter.reading import LintFile

_TEMPLATES: Final = "templates"
_BRACES: Final = (b"{{", b"{%")


def chart_of(file: LintFile) -> str:
    """The chart whose template a file is, as a path; empty where it is in none.

    Examples
    --------
    >>> chart_of(LintFile("charts/web/templates/deployment.yaml", b""))
    'charts/web'
    """
    return _chart_around(file.folder)


@cache
def _chart_around(folder: str) -> str:
    if _TEMPLATES not in folder:
        return ""
    parts = PurePath(folder).parts
    if _TEMPLATES not in parts:
        return ""
    above = parts[: parts.index(_TEMPLATES)]
    return str(PurePath(*above)) if above else "."


def is_template(file: LintFile) -> bool:
    """Whether what cannot be read in a file is meant to be filled in first."""
    return any(braces in file.text for braces in _BRACES) or bool(chart_of(file))

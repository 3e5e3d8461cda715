"""Detection of files that are templates of manifests: of Helm charts, or with other placeholders."""

from __future__ import annotations

from functools import cache
from pathlib import PurePath
from typing import Final

from kschedctl.linter.lint_files import LintFile

_TEMPLATES: Final = "templates"
_BRACES: Final = (b"{{", b"{%")


def chart_of(file: LintFile) -> str:
    """Return the path of the chart that a file is a template of; empty if it is in no chart.

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
    """Report whether a file is a template, so that unreadable parts are to be rendered first."""
    return any(braces in file.text for braces in _BRACES) or bool(chart_of(file))

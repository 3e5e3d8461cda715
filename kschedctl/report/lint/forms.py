"""The forms of output of lint. A new one is a module beside this file and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final, cast

from kschedctl.report.lint.form import LintForm

#: The module and the class of each; only what is asked for is imported.
FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "human": ("text", "Human"),
    "concise": ("concise", "Concise"),
    "json": ("json", "Json"),
    "jsonl": ("json", "JsonLines"),
    "sarif": ("sarif", "Sarif"),
    "junit": ("junit", "JUnit"),
    "github": ("github", "GitHub"),
    "gitlab": ("gitlab", "GitLab"),
}


def form(name: str) -> LintForm:
    """The form of a name."""
    module, cls = FORMS[name]
    return cast("LintForm", getattr(import_module(f"kschedctl.report.lint.{module}"), cls)())

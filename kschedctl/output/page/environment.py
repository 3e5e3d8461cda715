"""The Jinja environment of all pages: every text is escaped, and invisible characters are shown."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kschedctl.common.text.characters import printable
from kschedctl.output.page.drawing import FILTERS, is_short


def environment(loaders: Iterable[BaseLoader] = ()) -> Environment:
    """Return an environment with the templates of this package, after those of ``loaders``.

    Names in a cluster can contain any character. So autoescape is on for all templates, and control and invisible
    characters are shown as escape sequences.
    """
    made = Environment(
        loader=ChoiceLoader([*loaders, PackageLoader(__package__)]),
        autoescape=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters.update(FILTERS)
    made.tests["short"] = is_short
    return made


@cache
def shared_environment() -> Environment:
    """Return the environment of pages without templates of others."""
    return environment()


def _shown(value: Any) -> Any:
    return value if isinstance(value, Markup) else printable(str(value))

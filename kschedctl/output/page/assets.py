"""The style sheet and the script of pages, and the Content-Security-Policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Assets:
    """The texts that a self-contained page contains.

    Attributes
    ----------
    style, script : Markup
        The style sheet and the script.
    policy : str
        The Content-Security-Policy: only this style and this script, and no request to anywhere.
    """

    style: Markup
    script: Markup
    policy: str


@cache
def assets() -> Assets:
    """Return the assets of self-contained pages."""
    style, script = asset("style.css"), asset("script.js")
    policy = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return Assets(Markup(style), Markup(script), "; ".join(f"{name} {value}" for name, value in policy.items()))


def asset(name: str) -> str:
    """Return the text of a file of this package: ``style.css`` or ``script.js``."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

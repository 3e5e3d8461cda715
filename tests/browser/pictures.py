"""The pictures in the documentation: the page that each shows, and its height."""

from pathlib import Path
from typing import Final

from tests.paths import ROOT

MOST_BYTES: Final = 150_000
#: A page of `tests.browser.pages.PAGES` and the height of its picture in pixels, by the name of the picture.
PICTURES: Final = {
    "explain": ("explain: fits nowhere", 772),
    "nodes": ("nodes", 866),
    "pending": ("pending", 735),
    "simulate": ("simulate", 572),
}


def path_of(name: str, scheme: str) -> Path:
    """Return the file of a picture."""
    return ROOT / "docs" / "pictures" / f"{name}-{scheme}.png"

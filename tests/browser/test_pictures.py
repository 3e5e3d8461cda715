"""Pictures of pages for the documentation; ``--rewrite-pictures`` takes them anew."""

from pathlib import Path
from typing import Final

import pytest

from tests.browser.browser import Browser, Look, Scheme
from tests.browser.pages import Pages
from tests.browser.pictures import MOST_BYTES, PICTURES, path_of

pytestmark = pytest.mark.browser

_SCHEMES: Final[tuple[Scheme, ...]] = ("light", "dark")


@pytest.mark.parametrize("scheme", _SCHEMES)
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_small_enough(
    name: str, scheme: Scheme, browser: Browser, pages: Pages, request: pytest.FixtureRequest
) -> None:
    page, height = PICTURES[name]
    browser.open(pages.path(page))
    browser.look(Look(1000, scheme), height=height)
    picture = browser.picture()
    assert len(picture) < MOST_BYTES
    if request.config.getoption("--rewrite-pictures"):
        path: Path = path_of(name, scheme)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(picture)

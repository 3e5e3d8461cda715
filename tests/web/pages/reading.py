"""The reading of pages: elements, texts and links."""

from typing import Any, TypeAlias

import lxml.html
from litestar.testing import TestClient

#: The header of a browser: the media types that it accepts.
HTML = {"Accept": "text/html,application/xhtml+xml"}
Root: TypeAlias = lxml.html.HtmlElement


def opened(client: TestClient[Any], address: str, *, status: int = 200) -> Root:
    """Return a page; the test fails if its status differs."""
    response = client.get(address, headers=HTML)
    assert response.status_code == status, (address, response.status_code, response.text[-2000:])
    return lxml.html.fromstring(response.text)


def texts(root: Root, selector: str) -> list[str]:
    """Return the texts of elements."""
    return [" ".join(each.text_content().split()) for each in root.cssselect(selector)]


def links(root: Root, selector: str = "a") -> dict[str, str]:
    """Return the addresses of links by their texts; of several links with one text, the first."""
    found: dict[str, str] = {}
    for each in root.cssselect(selector):
        found.setdefault(" ".join(each.text_content().split()), each.get("href"))
    return found

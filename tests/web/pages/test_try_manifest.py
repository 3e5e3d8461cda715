"""A manifest is explained and linted, and stays in the box as it was sent."""

from __future__ import annotations

from typing import Any

import lxml.html
import pytest
from litestar.testing import TestClient

from tests.web.pages.reading import HTML, Root, texts

FITS = """apiVersion: v1
kind: Pod
metadata: {name: new}
spec:
  containers: [{name: c, image: "registry.example/a:1", resources: {requests: {cpu: 100m}}}]
"""


def tried(client: TestClient[Any], manifest: str, address: str = "/try") -> Root:
    """Send a manifest."""
    response = client.post(address, data={"manifest": manifest}, headers=HTML)
    assert response.status_code == 200, response.text
    return lxml.html.fromstring(response.text)


@pytest.mark.parametrize(
    ("manifest", "scheduling", "lint"),
    [
        (FITS, "default/new fits on", ""),
        (FITS.replace("100m", "100"), "default/new fits on none of 15 nodes", ""),
        (FITS.replace("cpu:", "cpus:"), "cpus", "cpus"),
        ("a: [", "line 2", "1 unreadable file"),
        (" ", "the request has no manifest", "the request has no manifest"),
        ("kind: Pod", "apiVersion", ""),
    ],
)
def test_a_manifest_is_explained_and_linted(shop: TestClient[Any], manifest: str, scheduling: str, lint: str) -> None:
    parts = texts(tried(shop, manifest), "#answer .part")
    assert [part.split()[0] for part in parts] == ["Scheduling", "Lint"]
    assert scheduling in parts[0]
    assert lint in parts[1]


def test_what_ifs_apply_to_the_manifest(shop: TestClient[Any]) -> None:
    assert "fits on none" in texts(tried(shop, FITS, "/try?set-request=cpu%3D100"), "#answer .part")[0]


@pytest.mark.parametrize("text", ["</textarea><script>x</script>", "a\n\n  b\t\u202e\u200b c", "&lt;", "\n\na"])
def test_the_box_has_what_was_sent(shop: TestClient[Any], text: str) -> None:
    root = tried(shop, text)
    # The first newline of the element is no part of its value.
    assert root.cssselect("textarea")[0].text.removeprefix("\n") == text
    assert len(root.cssselect("script")) == 2

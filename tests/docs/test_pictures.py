"""The pictures in the documentation: those that the tests in a browser take, and no others."""

from tests.browser.pictures import MOST_BYTES, PICTURES, path_of
from tests.paths import ROOT


def test_pictures_are_those_of_the_tests_and_small() -> None:
    expected = {path_of(name, scheme) for name in PICTURES for scheme in ("light", "dark")}
    found = set((ROOT / "docs" / "pictures").glob("*"))
    assert found == expected, "make pictures takes them"
    assert [path.name for path in found if path.stat().st_size >= MOST_BYTES] == []

"""Code that replaces the official client names a test that the client fails; that test exists."""

import re

import pytest

from tests.paths import ROOT

NAMED = re.compile(r"(tests/live/\w+\.py)::(\w+)")


@pytest.mark.parametrize("module", ["credentials", "kubeconfig", "settings"])
def test_the_test_that_it_fails_is_there(module: str) -> None:
    named = NAMED.findall((ROOT / "kschedctl" / "sources" / "live" / f"{module}.py").read_text())
    assert named
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text()

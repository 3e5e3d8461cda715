from __future__ import annotations

import sys

import pytest

from kschedctl.devices.cel import environment
from kschedctl.errors import UnsupportedError


def test_without_the_library_the_line_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    environment._environment.cache_clear()
    try:
        with pytest.raises(UnsupportedError, match=r"pip install cel-expr-python"):
            environment.check("true")
    finally:
        environment._environment.cache_clear()


def test_an_error_is_shown_in_the_line_that_it_is_in() -> None:
    with pytest.raises(environment.CompileError) as caught:
        environment.check('device.driver == "x" &&\n  device.nosuch')
    assert str(caught.value) == (
        "compilation failed: ERROR: <input>:2:9: undefined field 'nosuch'\n |   device.nosuch\n | ........^"
    )

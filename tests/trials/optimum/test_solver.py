"""The solver is an extra: without it there is one line that says what to do."""

import sys

import pytest

from kschedctl.common.errors import InputError
from kschedctl.common.extras import install_command
from kschedctl.trials.optimum.program import load_solver


def test_without_the_extra_the_line_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(InputError) as error:
        load_solver()
    assert error.value.lines()[1] == f"  run: {install_command('optimum')}"

import pytest

from kschedctl.scheduler.devices.cel import environment


def test_an_error_is_shown_in_the_line_that_it_is_in() -> None:
    with pytest.raises(environment.CompileError) as caught:
        environment.check('device.driver == "x" &&\n  device.nosuch')
    assert str(caught.value) == (
        "compilation failed: ERROR: <input>:2:9: undefined field 'nosuch'\n |   device.nosuch\n | ........^"
    )

"""What holds for all tests."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

# The machines that run the tests are of all speeds, and under load of all sorts.
_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# What make check has time for; make slow runs the same tests with all examples.
settings.register_profile("kschedctl", _ANY_SPEED, max_examples=15)
settings.register_profile("full", _ANY_SPEED, max_examples=100)
# For a look after changes to the engine: pytest --hypothesis-profile=thorough
settings.register_profile("thorough", _ANY_SPEED, max_examples=3000)
settings.load_profile("kschedctl")


def pytest_configure() -> None:
    """Have Ctrl-C interrupt the commands that tests start: in the background it is ignored, also by them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write what commands print into the golden files")

"""Settings of all tests."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

# Test machines differ in speed and load, so hypothesis checks no deadline.
_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# make check runs 10 examples per test for speed; make slow runs the same tests with 100.
settings.register_profile("kschedctl", _ANY_SPEED, max_examples=10)
settings.register_profile("full", _ANY_SPEED, max_examples=100)
# For use after changes to the engine: pytest --hypothesis-profile=thorough
settings.register_profile("thorough", _ANY_SPEED, max_examples=3000)
settings.load_profile("kschedctl")


def pytest_configure() -> None:
    """Let Ctrl-C interrupt commands that tests start: a background process ignores SIGINT, and so do its children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write what commands print into the golden files")
    parser.addoption("--rewrite-pictures", action="store_true", help="take the pictures of pages in docs anew")

"""Settings of all tests."""

import gc
import os
import signal
from collections.abc import Generator, Iterator

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


#: Variables of the shell, or of CI, that change what commands print or read.
_VARIABLES = (
    *("COLUMNS", "LINES", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"),
    *("KSCHEDCTL_SNAPSHOT", "KSCHEDCTL_CACHE", "KUBECONFIG", "POD_NAMESPACE", "GITHUB_ACTIONS"),
    *("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"),
)


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def pytest_configure() -> None:
    """Undo what the shell of the tests hands on to the commands that they run.

    A background process ignores SIGINT, and so do its children: Ctrl-C would not interrupt them.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in _VARIABLES:
        os.environ.pop(name, None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector the modules and tests, which stay: now while they become more, then in every test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def no_handler_of_a_signal_is_left() -> Iterator[None]:
    """A test that leaves a handler changes what an interrupt does to the tests after it."""
    before = [signal.getsignal(number) for number in _SIGNALS]
    yield
    assert [signal.getsignal(number) for number in _SIGNALS] == before


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write what commands print into the golden files")
    parser.addoption("--rewrite-pictures", action="store_true", help="take the pictures of pages in docs anew")

"""What holds for all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

# The machines that run the tests are of all speeds.
settings.register_profile("kschedctl", deadline=None)
# For a look after changes to the engine: pytest --hypothesis-profile=thorough
settings.register_profile("thorough", deadline=None, max_examples=3000)
settings.load_profile("kschedctl")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write what commands print into the golden files")

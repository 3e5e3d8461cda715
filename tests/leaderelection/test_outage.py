"""Messages of an outage: each cause once, and the number of attempts at the end."""

from __future__ import annotations

import pytest

from kschedctl.leaderelection.outage import Outage


@pytest.mark.parametrize(
    ("attempts", "said"),
    [
        ("refused", ["refused"]),
        ("refused refused refused", ["refused"]),
        ("refused slow refused slow", ["refused", "slow"]),
        ("refused -", ["refused"]),
        ("refused refused slow - -", ["refused", "slow", "it is back after 3 failed attempts"]),
        ("refused refused - refused", ["refused", "it is back after 2 failed attempts", "refused"]),
        ("- -", []),
    ],
)
def test_outage(attempts: str, said: list[str]) -> None:
    told: list[str] = []
    outage = Outage(told.append)
    for attempt in attempts.split():
        if attempt == "-":
            outage.ended("it is back")
        else:
            outage.failed(attempt)
    assert told == said

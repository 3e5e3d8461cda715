"""Leases of an API server as records, and what their server may answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.clock import VirtualClock
from kschedctl.common.errors import InputError
from kschedctl.leaderelection.locks import (
    ConflictError,
    LeaderElectionRecord,
    LeaseLock,
    LockError,
    LockNotFoundError,
    lease_name,
    record_of,
    spec_of,
)
from kschedctl.leaderelection.settings import Steps, T
from kschedctl.sources.live.api_server import ObjectClient
from tests.live.hostile_server import Talk, talking

TIMES = st.integers(0, 4 * 10**15).map(lambda micros: micros / 1e6)
RECORDS = st.builds(
    LeaderElectionRecord,
    holder_identity=st.text(),
    lease_duration_seconds=st.integers(0, 2**31 - 1),
    acquire_time=TIMES,
    renew_time=TIMES,
    leader_transitions=st.integers(0, 2**31 - 1),
    strategy=st.sampled_from(["", "OldestEmulationVersion"]),
    preferred_holder=st.text(),
)


@given(RECORDS)
def test_a_record_comes_back_from_its_lease(record: LeaderElectionRecord) -> None:
    found = record_of(json.loads(json.dumps(spec_of(record))))
    assert found.acquire_time == pytest.approx(record.acquire_time, abs=2e-6)
    assert found.renew_time == pytest.approx(record.renew_time, abs=2e-6)
    assert found.raw()[:2] + found.raw()[4:] == record.raw()[:2] + record.raw()[4:]


def test_times_have_six_digits_as_upstream_writes_them() -> None:
    assert spec_of(LeaderElectionRecord(holder_identity="a", lease_duration_seconds=15, renew_time=1.5)) == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "1970-01-01T00:00:00.000000Z",
        "renewTime": "1970-01-01T00:00:01.500000Z",
        "leaseTransitions": 0,
    }


def test_what_is_null_or_missing_is_empty() -> None:
    assert record_of({"holderIdentity": None, "renewTime": None}) == LeaderElectionRecord()


@pytest.mark.parametrize("spec", [{"leaseDurationSeconds": "15"}, {"renewTime": "today"}, {"holderIdentity": 1}])
def test_what_is_no_record_is_told(spec: dict[str, Any]) -> None:
    with pytest.raises(LockError, match="the Lease has no valid record of an election"):
        record_of(spec)


@pytest.mark.parametrize("text", ["", "report", "/report", "shop/", "Shop/report", "a/b/c", "shop/re port", "../x"])
def test_what_names_no_lease(text: str) -> None:
    with pytest.raises(InputError, match="is not the name of a Lease"):
        lease_name(text)


def answer(steps: Steps[T]) -> T:
    try:
        next(steps)
    except StopIteration as ended:
        found: T = ended.value
        return found
    raise AssertionError("it waits")


LEASE = {"metadata": {"name": "l", "resourceVersion": "7", "labels": {"kept": "yes"}}, "spec": {"holderIdentity": "b"}}


def ask(handle: Callable[[Talk], None], folder: Path, what: Callable[[LeaseLock], Steps[T]]) -> T:
    clock = VirtualClock(100.0)
    with talking(handle, folder) as (live, _):
        lock = LeaseLock(ObjectClient(live), "n", "l", "a", clock)
        lock._lease = dict(LEASE)
        return answer(what(lock))


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (404, LockNotFoundError, "responds with status 404"),
        (409, ConflictError, "responds with status 409: modified"),
        (403, LockError, "modified"),
        (401, LockError, "does not accept the credentials"),
        (500, LockError, "responds with status 500"),
    ],
)
def test_refusals(status: int, error: type[LockError], words: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=words):
        ask(lambda talk: talk.answer({"message": "modified"}, status=status), tmp_path, lambda lock: lock.get(105.0))


@pytest.mark.parametrize(
    ("handle", "deadline", "words"),
    [
        pytest.param(lambda talk: talk.answer(b"<html>"), 105.0, "does not respond", id="HTML"),
        pytest.param(lambda talk: talk.answer(b"[]"), 105.0, "does not respond", id="a list"),
        pytest.param(lambda talk: talk.answer(b"\xff"), 105.0, "does not respond", id="no text"),
        pytest.param(lambda talk: talk.answer(b"{"), 105.0, "does not respond", id="cut off"),
        pytest.param(lambda talk: talk.be_silent(), 100.3, "did not respond in time", id="nothing in time"),
        pytest.param(lambda talk: talk.answer(LEASE), 100.0, "context deadline exceeded", id="after the deadline"),
    ],
)
def test_answers_that_are_no_lease(handle: Callable[[Talk], None], deadline: float, words: str, tmp_path: Path) -> None:
    with pytest.raises(LockError, match=words):
        ask(handle, tmp_path, lambda lock: lock.get(deadline))


def test_a_server_that_comes_to_no_end_is_given_up_in_time(tmp_path: Path) -> None:
    def handle(talk: Talk) -> None:
        talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        talk.drip(b" ")

    # The deadline passes before or after the first part of the body.
    with pytest.raises(LockError, match=r"did not respond in (time|full within 0\.3 s)"):
        ask(handle, tmp_path, lambda lock: lock.get(100.3))

"""Cases over the machines of a Dask scheduler (extra ``sweep``): the same plan, and the same table.

What the plan reads is sent once, as it was read here, as machines need not share a disk. Dask gives the cases of a
worker that is lost to others; a case that workers die of again and again has failed, as it has here.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Final

import msgspec

from kschedctl.errors import InputError, KschedctlError, UnsupportedError
from kschedctl.sweep.inputs import InputFile, packed, unpacked
from kschedctl.sweep.job import Job
from kschedctl.sweep.pool import DIED, TRIES
from kschedctl.sweep.results import digest
from kschedctl.sweep.row import Row

#: How long a scheduler has for its first answer, in seconds.
_PATIENCE: Final = 10
_ADDRESS: Final = re.compile(r"([a-z]+://)?[^/\s]+:[0-9]+")
#: How many cases are with the scheduler at a time, per thread of a worker.
_AHEAD: Final = 4
#: What distributed raises where workers are gone, and with them what they had.
_LOST: Final = frozenset({"KilledWorker", "CancelledError", "FutureCancelledError", "FuturesCancelledError"})


class Parcel(msgspec.Struct, frozen=True):
    """A sweep on its way to other machines.

    Attributes
    ----------
    digest : str
        What tells sweeps apart.
    job : Job
        The sweep, without what it has loaded.
    files : list of InputFile
        What it reads.
    """

    digest: str
    job: Any
    files: list[InputFile]


def run_there(job: Job, numbers: Sequence[int], address: str) -> Iterator[Row]:
    """The rows of cases, in the order in which they are done.

    Parameters
    ----------
    job : Job
        The sweep.
    numbers : sequence of int
        The cases.
    address : str
        The address of the scheduler.

    Raises
    ------
    InputError
        Where no scheduler answers, or its workers are not such as are needed.
    UnsupportedError
        Where the extra is not installed.
    """
    distributed = _distributed()
    if _ADDRESS.fullmatch(address) is None:
        raise InputError("is no address of a Dask scheduler", where=address, hint="such as tcp://host:8786")
    parcel = Parcel(digest(job), job, packed(job))
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"no Dask scheduler answers: {error}", where=address) from None
    with client:
        _check_workers(client, address)
        yield from _rows(client, parcel, job.in_order(numbers))


def _distributed() -> Any:
    """The package, whose functions have no types."""
    try:
        return import_module("distributed")
    except ImportError:
        raise UnsupportedError("--dask needs distributed", hint="pip install 'kschedctl[sweep]'") from None


def _check_workers(client: Any, address: str) -> None:
    versions = client.run(_version)
    if not versions:
        raise InputError("the Dask scheduler has no workers", where=address, hint="dask worker ADDRESS starts one")
    own = version("kschedctl")
    others = {worker: found for worker, found in versions.items() if found != own}
    for worker, found in others.items():
        told = f"has kschedctl {found}" if found else "has no kschedctl"
        raise InputError(f"the worker {worker} {told}, and this is {own}", where=address, hint="install the same there")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError

    try:
        return version("kschedctl")
    except PackageNotFoundError:
        return ""


def _rows(client: Any, parcel: Parcel, numbers: Sequence[int]) -> Iterator[Row]:
    sent = client.scatter(parcel, broadcast=True, hash=False)
    threads = sum(client.nthreads().values())
    waiting = iter(numbers)
    tries = dict.fromkeys(numbers, 0)
    of_future: dict[str, int] = {}
    done = _distributed().as_completed(loop=client.loop, raise_errors=False)

    def submit(number: int) -> None:
        tries[number] += 1
        key = f"kschedctl-{parcel.digest[-12:]}-{number}-{tries[number]}"
        of_future[key] = number
        done.add(client.submit(_row_there, number, sent, key=key, pure=False))

    for number in islice(waiting, max(threads * _AHEAD, 1)):
        submit(number)
    for future in done:
        number = of_future.pop(future.key)
        text, error = _result(future)
        if text is None and tries[number] < TRIES:
            if client.status != "running":
                raise KschedctlError("the Dask scheduler is gone", hint="with --results, --resume goes on")
            if sent.status != "finished":
                # All workers that had it are gone.
                sent = client.scatter(parcel, broadcast=True, hash=False)
            submit(number)
            continue
        yield parcel.job.failed(number, error) if text is None else msgspec.json.decode(text, type=Row)
        for following in islice(waiting, 1):
            submit(following)


def _result(future: Any) -> tuple[bytes | None, str]:
    """What came of a case, or why nothing did: a case that fails says so in its row, so that it is for the worker."""
    try:
        return future.result(), ""
    except (OSError, ImportError, MemoryError) as error:
        return None, f"a worker could not begin: {error}"
    except Exception as error:
        lost = type(error).__name__ in _LOST
        return None, DIED if lost else f"this is a bug in kschedctl: {type(error).__name__}: {error}"


# What follows runs on the machines.

#: One case at a time, as clusters that are derived from one another share what they learn.
_working = Lock()
_jobs: dict[str, Job] = {}


def _row_there(number: int, parcel: Parcel) -> bytes:
    with _working:
        job = _jobs.get(parcel.digest)
        if job is None:
            _jobs.clear()
            folder = Path(tempfile.mkdtemp(prefix="kschedctl-sweep-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            job = _jobs[parcel.digest] = Job(parcel.job.read, folder, unpacked(parcel.files, folder))
        return msgspec.json.encode(job.row(number))

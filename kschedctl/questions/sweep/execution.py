"""Execution of cases on the cores of this machine: one process per core, and one case at a time per process.

Each case is assigned to one known process. If a process dies, for example because memory runs out, only its case is
affected: the case is retried once and then counts as failed.
"""

import atexit
import re
import shutil
import tempfile
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path
from threading import Lock
from typing import Any, Final

import msgspec

from kschedctl.common.errors import InputError, KschedctlError, UnsupportedError
from kschedctl.common.extras import install_command
from kschedctl.common.processes import WorkerProcess, process_context
from kschedctl.questions.sweep.job import Row, SweepJob
from kschedctl.questions.sweep.results import InputFile, digest, packed, unpacked

#: The number of attempts for a case whose process dies.
TRIES: Final = 2
#: The error of a case whose process died in every attempt.
DIED: Final = "every process that ran this case was killed, possibly because memory ran out"


def run_here(job: SweepJob, numbers: Sequence[int], jobs: int) -> Generator[Row, None, None]:
    """Run cases on this machine and yield their rows in the order of completion.

    Args:
        job: The job of the sweep. On Linux, the processes share its loaded clusters.
    """
    waiting = deque(job.in_order(numbers))
    tried: Counter[int] = Counter()
    workers: list[WorkerProcess[Row]] = []
    # A fork shares the loaded cluster, which would otherwise cost each process seconds and gigabytes for a large
    # cluster: with 500 nodes and 15,000 pods the first row is ready after 0.4 s instead of 2 s.
    context = process_context()
    try:
        while waiting or any(worker.number for worker in workers):
            while len(workers) < min(jobs, len(waiting) + sum(bool(worker.number) for worker in workers)):
                workers.append(WorkerProcess(context, job.row, workers))
            for worker in workers:
                if not worker.number and waiting:
                    worker.give(waiting.popleft())
            ready = wait([worker.pipe for worker in workers if worker.number])
            for worker in [worker for worker in workers if worker.pipe in ready]:
                row = worker.take()
                if row is not None:
                    yield row
                    continue
                workers.remove(worker)
                number = worker.number
                worker.end()
                tried[number] += 1
                if tried[number] < TRIES:
                    waiting.appendleft(number)
                else:
                    yield job.failed(number, DIED)
    finally:
        for worker in workers:
            worker.end()


# Execution of cases on the workers of a Dask scheduler (extra ``sweep``), with the same results as on this machine.
#
# The files that the plan reads are sent to the workers once, because machines need not share a disk. Dask reassigns the
# cases of a lost worker to other workers. A case whose workers die repeatedly counts as failed, as on this machine.

#: The timeout of the connection to the scheduler, in seconds.
_PATIENCE: Final = 10
_ADDRESS: Final = re.compile(r"([a-z]+://)?[^/\s]+:[0-9]+")
#: The number of cases submitted ahead, per thread of the workers.
_AHEAD: Final = 4
#: The names of the exceptions that distributed raises if a worker is lost with its data.
_LOST: Final = frozenset({"KilledWorker", "CancelledError", "FutureCancelledError", "FuturesCancelledError"})


class Parcel(msgspec.Struct, frozen=True):
    """A sweep to be transferred to other machines."""

    #: The digest that identifies the sweep.
    digest: str
    #: The job, without loaded clusters.
    job: Any
    #: The files that the sweep reads.
    files: list[InputFile]


def run_there(job: SweepJob, numbers: Sequence[int], address: str) -> Iterator[Row]:
    """Run cases on Dask workers and yield their rows in the order of completion.

    Raises InputError if the scheduler does not respond within 10 s, has no workers, or a worker has another version
        of kschedctl.
    Raises UnsupportedError if the extra ``dask`` is not installed.
    Raises KschedctlError if the scheduler is lost during the run.
    """
    distributed = _distributed()
    if _ADDRESS.fullmatch(address) is None:
        raise InputError("is not an address of a Dask scheduler", where=address, hint="such as tcp://host:8786")
    parcel = Parcel(digest(job), job, packed(job))
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"no response from a Dask scheduler: {error}", where=address) from None
    with client:
        versions = client.run(_version)
        if not versions:
            raise InputError("the Dask scheduler has no workers", where=address, hint="dask worker ADDRESS starts one")
        own = version("kschedctl")
        others = {worker: found for worker, found in versions.items() if found != own}
        for worker, found in others.items():
            told = f"has kschedctl {found}" if found else "has no kschedctl"
            raise InputError(
                f"the worker {worker} {told}, this machine has {own}",
                where=address,
                hint="install the same version on the workers",
            )
        yield from _rows(client, parcel, job.in_order(numbers))


def _distributed() -> Any:
    """Import the package ``distributed``, which has no type annotations."""
    try:
        return import_module("distributed")
    except ImportError:
        raise UnsupportedError("--dask needs the package distributed", hint=install_command("dask")) from None


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
        text, error = _row_or_error(future)
        if text is None and tries[number] < TRIES:
            if client.status != "running":
                raise KschedctlError(
                    "the connection to the Dask scheduler is lost", hint="with --results, --resume continues"
                )
            if sent.status != "finished":
                # All workers with a copy of the parcel are gone.
                sent = client.scatter(parcel, broadcast=True, hash=False)
            submit(number)
            continue
        yield parcel.job.failed(number, error) if text is None else msgspec.json.decode(text, type=Row)
        for following in islice(waiting, 1):
            submit(following)


def _row_or_error(future: Any) -> tuple[bytes | None, str]:
    """Return the encoded row of a case, or ``None`` and the error.

    A case that fails reports its error in the row, so an exception concerns the worker.
    """
    try:
        return future.result(), ""
    except (OSError, ImportError, MemoryError) as error:
        return None, f"a worker could not start: {error}"
    except Exception as error:
        lost = type(error).__name__ in _LOST
        return None, DIED if lost else f"this is a bug in kschedctl: {type(error).__name__}: {error}"


# The following functions run on the workers.

#: The lock that limits a worker to one case at a time, because clusters derived from one another share caches.
_working = Lock()
_jobs: dict[str, SweepJob] = {}


def _row_there(number: int, parcel: Parcel) -> bytes:
    with _working:
        job = _jobs.get(parcel.digest)
        if job is None:
            _jobs.clear()
            folder = Path(tempfile.mkdtemp(prefix="kschedctl-sweep-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            job = _jobs[parcel.digest] = SweepJob(parcel.job.read, folder, unpacked(parcel.files, folder))
        return msgspec.json.encode(job.row(number))

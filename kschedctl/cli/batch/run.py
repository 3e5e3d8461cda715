"""What ``batch`` does once its options are read: deciding cases in several processes, in order."""

from __future__ import annotations

import gzip
import os
import signal
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from io import BufferedReader
from itertools import chain, count, islice
from multiprocessing import active_children, get_context
from typing import Any, BinaryIO, Final

import msgspec

from kschedctl.cli.streams import say, stdin, write
from kschedctl.errors import InputError, KschedctlError
from kschedctl.framework.registry import Registry
from kschedctl.plugins.registry import full_registry
from kschedctl.releases.choice import choose_release
from kschedctl.releases.release import Release
from kschedctl.report.batch.answer import answer
from kschedctl.report.batch.sequence import sequence_answer
from kschedctl.report.render.printable import json_text
from kschedctl.scheduler.cases import Case, decide
from kschedctl.simulate.cases import SequenceCase, run_sequence
from kschedctl.snapshot.pod_choice import STDIN
from kschedctl.snapshot.unpacking import PackedStream, Unpacking, bounded_lines

#: How many cases a process gets at a time, and how many such portions wait per process.
_PORTION: Final = 8
_AHEAD: Final = 4
_GZIP_MAGIC: Final = b"\x1f\x8b"

_TOO_DEEP: Final = "is nested too deeply"

Line = tuple[int, bytes]
#: The answer to a line, and what is wrong with it where it is no case.
LineAnswer = tuple[bytes, str]


class _Id(msgspec.Struct):
    id: str


class _Pods(msgspec.Struct):
    """Whether a case has many pods."""

    pods: msgspec.Raw = msgspec.Raw(b"")


_decode_case = msgspec.json.Decoder(Case).decode
_decode_sequence = msgspec.json.Decoder(SequenceCase).decode
_decode_pods = msgspec.json.Decoder(_Pods).decode
_decode_id = msgspec.json.Decoder(_Id).decode


class Decider:
    """Answers lines under one release.

    Parameters
    ----------
    kubernetes_version : str
        The release; empty for the newest.
    feature_gates : mapping of str to bool
        Gates that are not at their default.
    """

    def __init__(self, kubernetes_version: str, feature_gates: Mapping[str, bool]) -> None:
        chosen = choose_release(kubernetes_version, "", ())
        self._release: Release = chosen.release.with_features(feature_gates)
        self._registry: Registry = full_registry()

    def answer(self, line: Line) -> LineAnswer:
        """Answer one line."""
        number, text = line
        try:
            many = bool(_decode_pods(text).pods)
            case = _decode_sequence(text) if many else _decode_case(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._no_case(number, text, str(error))
        except RecursionError:
            return self._no_case(number, text, _TOO_DEEP)
        try:
            data = self._answered(case)
        except KschedctlError as error:
            data = {"id": case.id, "error": str(error)}
        except RecursionError:
            data = {"id": case.id, "error": _TOO_DEEP}
        return msgspec.json.encode(data), ""

    def _answered(self, case: Case | SequenceCase) -> dict[str, Any]:
        if isinstance(case, SequenceCase):
            return sequence_answer(case.id, run_sequence(case, self._release, self._registry))
        return answer(case.id, decide(case, self._release, self._registry))

    def _no_case(self, number: int, text: bytes, problem: str) -> LineAnswer:
        try:
            return msgspec.json.encode({"id": _decode_id(text).id, "error": problem}), ""
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            data = {"id": None, "line": number, "error": problem}
            return msgspec.json.encode(data), f"line {number}: {problem}"


def run_batch(
    path: str,
    *,
    kubernetes_version: str,
    feature_gates: Mapping[str, bool],
    jobs: int,
    max_unpacked: int | None = None,
) -> int:
    """Answer all lines of a file on standard output, in order.

    Parameters
    ----------
    path : str
        The file; ``-`` for standard input.
    kubernetes_version : str
        The release; empty for the newest.
    feature_gates : mapping of str to bool
        Gates that are not at their default.
    jobs : int
        How many processes; 0 for one per core.
    max_unpacked : int, optional
        The most bytes that cases are unpacked to in all; without it only the ratio is limited, as cases are let go of
        one by one.

    Returns
    -------
    int
        How many lines are no cases; they are named on standard error.

    Raises
    ------
    InputError
        Where the file cannot be read.
    """
    decider = Decider(kubernetes_version, feature_gates)
    n_unreadable = 0
    with _opened(path) as stream, _progress(stream) as advance:
        for text, problem in _answers(
            decider, (kubernetes_version, dict(feature_gates)), _lines(stream, max_unpacked), jobs
        ):
            write(json_text(text) + "\n")
            advance()
            if problem:
                n_unreadable += 1
                say(f"error: {problem}")
    return n_unreadable


def _answers(
    decider: Decider, settings: tuple[str, dict[str, bool]], lines: Iterator[Line], jobs: int
) -> Iterator[LineAnswer]:
    jobs = jobs or len(os.sched_getaffinity(0))
    first = list(islice(lines, _PORTION))
    portions = chain([first], iter(lambda: list(islice(lines, _PORTION)), []))
    # A few cases are answered before another process has started.
    if jobs == 1 or len(first) < _PORTION:
        for portion in portions:
            yield from map(decider.answer, portion)
        return
    # Not forked: NumPy may have started threads.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_start, initargs=settings)
    waiting: deque[Future[list[LineAnswer]]] = deque()
    try:
        for portion in portions:
            with _uninterrupted():
                waiting.append(pool.submit(_answer_portion, portion))
            if len(waiting) >= jobs * _AHEAD:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        hint = "where the machine ran out of memory, fewer processes help: --jobs"
        raise KschedctlError("a process that decides cases was ended from outside", hint=hint) from None
    except BaseException:
        # Nobody waits for what they are at.
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits; processes started meanwhile never get it, as it is for this one to end them."""
    came: list[int] = []
    # What is blocked is inherited by processes, but another thread may still take it for this one.
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
    if came:
        raise KeyboardInterrupt


_deciders: list[Decider] = []


def _start(kubernetes_version: str, feature_gates: Mapping[str, bool]) -> None:
    """Prepare a process; what it needs is too large to be sent with every portion."""
    _deciders.append(Decider(kubernetes_version, feature_gates))


def _answer_portion(lines: Iterable[Line]) -> list[LineAnswer]:
    return [_deciders[0].answer(line) for line in lines]


def _lines(stream: BufferedReader, max_unpacked: int | None) -> Iterator[Line]:
    """The lines with their numbers, unzipped where the stream begins as gzip does; empty ones are left out."""
    opened: BinaryIO = stream
    if stream.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
        packed = PackedStream(stream)
        unzipped = gzip.GzipFile(fileobj=packed)  # type: ignore[call-overload]
        unpacking = Unpacking.piecewise() if max_unpacked is None else Unpacking(max_unpacked)
        opened = unpacking.counted(unzipped, "the compressed cases", lambda: packed.n_read)
    try:
        for number, text in enumerate(bounded_lines(opened), 1):
            if text.strip():
                yield number, text
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"the compressed cases cannot be read: {error}") from None


@contextmanager
def _opened(path: str) -> Iterator[BufferedReader]:
    is_stdin = path == STDIN
    try:
        stream = open(stdin().fileno() if is_stdin else path, "rb", closefd=not is_stdin)  # noqa: SIM115
        # A folder can be opened and not read.
        stream.peek(1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=path) from None
    with stream:
        yield stream


@contextmanager
def _progress(stream: BufferedReader) -> Iterator[Callable[[], None]]:
    """A bar that moves with the file, where a terminal shows it and the answers go elsewhere."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    size = os.fstat(stream.fileno()).st_size if stream.seekable() else None
    columns = (BarColumn(), TextColumn("{task.fields[n_cases]} cases"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=size, n_cases=0)
        counter = count(1)

        def advance() -> None:
            completed = stream.tell() if size is not None else None
            progress.update(task, completed=completed, n_cases=next(counter))

        yield advance

"""Decisions for lines of recorded cases, in this process or over several, in order."""

import gzip
import signal
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from io import BufferedReader
from itertools import chain, islice
from multiprocessing import active_children, get_context
from typing import BinaryIO, Final

import msgspec

from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.common.processes import available_cores
from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.releases.release import Release
from kschedctl.questions.batch.cases import Case, answer, decide
from kschedctl.questions.batch.sequences import SequenceCase, run_sequence, sequence_answer
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.plugins.registry import full_registry
from kschedctl.sources.snapshot.archives import PackedStream, Unpacking, bounded_lines
from kschedctl.sources.snapshot.files import STDIN, open_stdin

#: The number of cases that a process gets at a time.
_PORTION: Final = 8
#: The number of such portions that are queued per process.
_AHEAD: Final = 4
_TOO_DEEP: Final = "is nested too deeply"

Line = tuple[int, bytes]
#: The answer to a line, and the problem if the line is no case; else empty.
LineAnswer = tuple[bytes, str]


class _Id(msgspec.Struct):
    id: str


class _Kind(msgspec.Struct, rename="camel"):
    """The fields that distinguish cases of many pods, and those about Karpenter, from others."""

    pods: msgspec.Raw = msgspec.Raw(b"")
    instance_types: msgspec.Raw = msgspec.Raw(b"")


_decode_case = msgspec.json.Decoder(Case).decode
_decode_sequence = msgspec.json.Decoder(SequenceCase).decode
_decode_kind = msgspec.json.Decoder(_Kind).decode
_decode_id = msgspec.json.Decoder(_Id).decode


class Decider:
    """A decider for lines of cases under one release.

    Args:
        kubernetes_version: The release; empty for the newest.
        feature_gates: Feature gates that differ from their defaults.
    """

    def __init__(self, kubernetes_version: str, feature_gates: Mapping[str, bool]) -> None:
        self.settings = kubernetes_version, dict(feature_gates)
        chosen = choose_release(kubernetes_version, "", ())
        self._release: Release = chosen.release.with_features(feature_gates)
        self._registry: Registry = full_registry()

    def answer(self, line: Line) -> LineAnswer:
        number, text = line
        try:
            kind = _decode_kind(text)
            if kind.instance_types:
                return self._provisioned(text)
            case = _decode_sequence(text) if kind.pods else _decode_case(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._no_case(number, text, str(error))
        except RecursionError:
            return self._no_case(number, text, _TOO_DEEP)
        try:
            data = (
                sequence_answer(case.id, run_sequence(case, self._release, self._registry))
                if isinstance(case, SequenceCase)
                else answer(case.id, decide(case, self._release, self._registry))
            )
        except KschedctlError as error:
            data = {"id": case.id, "error": str(error)}
        except RecursionError:
            data = {"id": case.id, "error": _TOO_DEEP}
        return msgspec.json.encode(data), ""

    def _provisioned(self, text: bytes) -> LineAnswer:
        from kschedctl.questions.batch.provisioning import ProvisioningCase, case_answer

        case = msgspec.json.decode(text, type=ProvisioningCase)
        try:
            data = case_answer(case)
        except KschedctlError as error:
            data = {"id": case.id, "error": str(error)}
        return msgspec.json.encode(data), ""

    def _no_case(self, number: int, text: bytes, problem: str) -> LineAnswer:
        try:
            return msgspec.json.encode({"id": _decode_id(text).id, "error": problem}), ""
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            data = {"id": None, "line": number, "error": problem}
            return msgspec.json.encode(data), f"line {number}: {problem}"


def decide_lines(decider: Decider, lines: Iterator[Line], jobs: int) -> Iterator[LineAnswer]:
    """Yield the answers to lines, in order.

    Args:
        jobs: The number of processes; 0 for one per core.

    Raises KschedctlError if something else ended a process.
    """
    jobs = jobs or available_cores()
    first = list(islice(lines, _PORTION))
    portions = chain([first], iter(lambda: list(islice(lines, _PORTION)), []))
    # Fewer than 8 cases are answered before another process has started.
    if jobs == 1 or len(first) < _PORTION:
        for portion in portions:
            yield from map(decider.answer, portion)
        return
    # Not forked: NumPy may have started threads.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_start, initargs=decider.settings)
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
        hint = "if the machine ran out of memory, use fewer processes: --jobs"
        raise KschedctlError("a process that decides cases terminated unexpectedly", hint=hint) from None
    except BaseException:
        # Nothing waits for the results of running processes.
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the end of the context.

    Processes that start meanwhile never receive it: this process ends them.
    """
    came: list[int] = []
    # Processes inherit the blocked signal, but another thread of this process may still receive it.
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
    """Prepare a process; its decider is too large to be sent with every portion."""
    _deciders.append(Decider(kubernetes_version, feature_gates))


def _answer_portion(lines: Iterable[Line]) -> list[LineAnswer]:
    return [_deciders[0].answer(line) for line in lines]


# A file of recorded cases: its lines with their numbers, decompressed if needed.

_GZIP_MAGIC: Final = b"\x1f\x8b"


def numbered_lines(stream: BufferedReader, max_unpacked: int | None) -> Iterator[Line]:
    """Yield the lines that are not empty, each with its number.

    Args:
        max_unpacked: The most bytes to unpack in all. ``None`` limits only the compression ratio: no more than a
            case is in memory.

    Raises InputError if the compressed cases cannot be read.
    """
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
def opened_cases(path: str) -> Iterator[BufferedReader]:
    """Open a file of cases; ``-`` is standard input.

    Raises InputError if the file cannot be read.
    """
    is_stdin = path == STDIN
    try:
        stream = open(open_stdin().fileno() if is_stdin else path, "rb", closefd=not is_stdin)  # noqa: SIM115
        # A folder can be opened but not read.
        stream.peek(1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=path) from None
    with stream:
        yield stream

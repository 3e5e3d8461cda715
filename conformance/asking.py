"""The two sides that answer cases: the reference scheduler as a subprocess, and kschedctl in this process."""

import contextlib
import json
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

import msgspec

from conformance.jsonlines import Object, line
from conformance.recordings import our_answer
from conformance.sequences import is_sequence
from kschedctl.common.errors import KschedctlError
from kschedctl.objects.releases.release import RELEASES
from kschedctl.questions.batch.cases import Case
from kschedctl.questions.batch.sequences import SequenceCase, run_sequence, sequence_answer
from kschedctl.scheduler.plugins.registry import in_tree_registry

#: A scheduler under comparison: a function from a case to its answer.
Side = Callable[[Object], Object]

WORKERS: Final = 4


class Judge:
    """The reference scheduler of a release: a process that runs until the ``with`` block ends.

    Some cases crash the real scheduler. Such a case gets the answer ``{"id": ..., "unknown": reason}``, like a case
    that the release cannot decode, and the process is restarted.

    Parameters
    ----------
    command : Path or sequence of str
        The program that ``builds.build`` returned, or the command line of another program that answers cases.
    """

    def __init__(self, command: Path | Sequence[str]) -> None:
        self._command = [str(command), "-workers", str(WORKERS)] if isinstance(command, Path) else list(command)

    def __enter__(self) -> "Judge":
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def __call__(self, case: Object) -> Object:
        """Return the answer to one case."""
        try:
            self._write(case)
            return self._read()
        except _EndedError:
            why = self._why()
            self._start()
            return {"id": case.get("id"), "unknown": f"the scheduler crashes: {why}"}

    def ask(self, cases: Iterable[Object]) -> Iterator[Object]:
        """Yield the answers to many cases in their order, with up to ``WORKERS`` + 1 cases in flight."""
        waiting: deque[Object] = deque()
        for case in [*cases, None]:
            try:
                if case is not None:
                    waiting.append(case)
                    self._write(case)
                while len(waiting) > (WORKERS if case is not None else 0):
                    found = self._read()
                    waiting.popleft()
                    yield found
            except _EndedError:  # one of the cases in flight crashed it: send each alone to find out which
                self._stop()
                self._start()
                while waiting:
                    yield self(waiting.popleft())

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        # A full stderr pipe would block the process: drain it, and keep the output for the error text.
        self._said: deque[bytes] = deque()
        self._listener = threading.Thread(target=self._listen, args=(self._process, self._said), daemon=True)
        self._listener.start()

    def _stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _write(self, case: Object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line(case).encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise _EndedError from None

    def _read(self) -> Object:
        assert self._process.stdout is not None
        text = self._process.stdout.readline()
        if not text:
            raise _EndedError
        found: Object = json.loads(text)
        return found

    def _why(self) -> str:
        """Stop the process; return the first line of its stderr, else its exit code."""
        self._stop()
        said = b"".join(self._said).decode(errors="replace").strip()
        return said.partition("\n")[0] or f"exit code {self._process.returncode}"

    @staticmethod
    def _listen(process: subprocess.Popen[bytes], said: deque[bytes]) -> None:
        assert process.stderr is not None
        for text in process.stderr:
            if len(said) < 1000:  # a crash prints its reason first
                said.append(text)


class _EndedError(Exception):
    """The reference scheduler's process has ended."""


def ours(version: str) -> Side:
    """Return kschedctl with the rules of a release as a side.

    The case's ``featureGates`` are set; in a sequence its ``choices`` are followed.
    """
    release = RELEASES[version]

    def said(data: Object) -> Object:
        try:
            rules = release.with_features(data.get("featureGates") or {})
            if is_sequence(data):
                many = msgspec.convert(data, SequenceCase)
                return sequence_answer(many.id, run_sequence(many, rules, in_tree_registry()))
            return our_answer(msgspec.convert(data, Case), rules)
        except (KschedctlError, msgspec.ValidationError) as error:
            return {"id": data.get("id"), "error": str(error)}

    return said

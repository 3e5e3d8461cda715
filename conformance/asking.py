"""Asking: the judge as a process that is asked case after case, and our engine as the other side."""

from __future__ import annotations

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
from kschedctl.analyses.batch.cases import Case
from kschedctl.analyses.batch.sequence_answer import sequence_answer
from kschedctl.analyses.batch.sequence_cases import SequenceCase, run_sequence
from kschedctl.errors import KschedctlError
from kschedctl.plugins.registry import in_tree_registry
from kschedctl.releases.release import RELEASES

#: A side that is asked: from a case to its answer.
Side = Callable[[Object], Object]

WORKERS: Final = 4


class Judge:
    """The real scheduler of a release, running until the ``with`` block ends.

    A case that crashes the scheduler (there are such) has no answer: it gets ``{"id": ..., "unknown": why}``, as the
    cases do that the release cannot be asked, and the judge is started again.

    Parameters
    ----------
    command : Path or sequence of str
        What ``builds.build`` returned, or how to start another program that answers cases.
    """

    def __init__(self, command: Path | Sequence[str]) -> None:
        self._command = [str(command), "-workers", str(WORKERS)] if isinstance(command, Path) else list(command)

    def __enter__(self) -> Judge:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def __call__(self, case: Object) -> Object:
        """The answer to one case."""
        try:
            self._write(case)
            return self._read()
        except _EndedError:
            why = self._why()
            self._start()
            return {"id": case.get("id"), "unknown": f"the scheduler crashes: {why}"}

    def ask(self, cases: Iterable[Object]) -> Iterator[Object]:
        """The answers to many cases in their order, several of them worked on at once."""
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
            except _EndedError:  # by one of those that wait: which, shows when each is asked alone
                self._stop()
                self._start()
                while waiting:
                    yield self(waiting.popleft())

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        # Nobody may wait for a full pipe: what it says on stderr is kept for the error.
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
        """The first line of what the judge said when it ended."""
        self._stop()
        said = b"".join(self._said).decode(errors="replace").strip()
        return said.partition("\n")[0] or f"exit code {self._process.returncode}"

    @staticmethod
    def _listen(process: subprocess.Popen[bytes], said: deque[bytes]) -> None:
        assert process.stderr is not None
        for text in process.stderr:
            if len(said) < 1000:  # a crash says why first
                said.append(text)


class _EndedError(Exception):
    """The process does not answer any more."""


def ours(version: str) -> Side:
    """Our engine with the rules of a release; a sequence takes the turns that its ``choices`` name."""
    release = RELEASES[version]

    def said(data: Object) -> Object:
        try:
            if is_sequence(data):
                many = msgspec.convert(data, SequenceCase)
                return sequence_answer(many.id, run_sequence(many, release, in_tree_registry()))
            return our_answer(msgspec.convert(data, Case), release)
        except (KschedctlError, msgspec.ValidationError) as error:
            return {"id": data.get("id"), "error": str(error)}

    return said

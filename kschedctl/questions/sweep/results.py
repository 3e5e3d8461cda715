"""The file of results: one line of JSON per completed case, so that an interrupted sweep can be resumed."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import IO, Final, Literal

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.questions.sweep.job import Row, SweepJob
from kschedctl.questions.sweep.plan import API_VERSION, CONFIG, EDITS_BY_NAME, OF, SNAPSHOT, texts

# The files that a sweep reads, for the comparison of sweeps and for the transfer to other machines.


class InputFile(msgspec.Struct, frozen=True):
    """A file to be transferred to another machine."""

    #: The path in the plan, of the file or of the folder that contains it.
    source: str
    #: The path relative to that folder; empty if ``source`` is the file itself.
    name: str
    content: bytes


def sources(job: SweepJob) -> list[str]:
    """Return the distinct paths in the plan that are read: snapshots, configurations, manifests and what-if files."""
    plan = job.read.plan
    found = [*texts(plan.base.snapshot), *([plan.base.config] if plan.base.config else [])]
    edits = [(name, text) for name, given in plan.base.what_if.items() for text in texts(given)]
    asked = list(texts(plan.of))
    for axis in job.read.axes:
        every = [text for value in axis.values for text in axis.texts(value)]
        if axis.of in (SNAPSHOT, CONFIG):
            found += every
        elif axis.of == OF:
            asked += every
        elif axis.of in EDITS_BY_NAME:
            edits += [(axis.of, text) for text in every]
    found += [source for name, text in edits for source in EDITS_BY_NAME[name].sources(text)]
    found += [text for text in asked if Path(job.path(text)).is_file()]
    return list(dict.fromkeys(found))


def inputs(job: SweepJob) -> Iterator[tuple[str, Path]]:
    """Yield the files that are read, each with its name: the path in the plan, with the path inside a folder."""
    for source in sources(job):
        for name, file in _files(Path(job.path(source))):
            yield f"{source}/{name}" if name else source, file


def packed(job: SweepJob) -> list[InputFile]:
    """Return the files that are read, with their contents.

    Raises InputError if a file cannot be read.
    """
    every = []
    for source in sources(job):
        for name, file in _files(Path(job.path(source))):
            try:
                every.append(InputFile(source, name, file.read_bytes()))
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror or error}", where=str(file)) from None
    return every


def unpacked(files: list[InputFile], folder: Path) -> dict[str, str]:
    """Write files to a folder, and return the new locations by the paths in the plan.

    Args:
        folder: An empty folder.
    """
    places: dict[str, str] = {}
    for each in files:
        if each.source not in places:
            places[each.source] = str(folder / str(len(places)) / Path(each.source).name)
        place = Path(places[each.source])
        target = place / each.name if each.name else place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(each.content)
    return places


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the file at a path, or all files below a folder with their relative paths."""
    if not path.is_dir():
        yield "", path
        return
    for folder, below, names in os.walk(path):
        below.sort()
        for name in sorted(names):
            file = Path(folder) / name
            if file.is_file():
                yield str(file.relative_to(path)), file


_BLOCK: Final = 1 << 20


class Header(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The first line, which identifies the plan of the results."""

    api_version: Literal["kschedctl/v1"] = API_VERSION
    kind: Literal["SweepResults"] = "SweepResults"
    plan: str
    cases: int


def digest(job: SweepJob) -> str:
    """Return the SHA-256 digest of a sweep: of the plan, the files that it reads, and the version of kschedctl.

    Raises InputError if a file cannot be read.
    """
    found = hashlib.sha256(msgspec.json.encode([version("kschedctl"), job.read.plan]))
    for name, file in inputs(job):
        found.update(f"\0{name}\0".encode())
        try:
            with open(file, "rb") as stream:
                while block := stream.read(_BLOCK):
                    found.update(block)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", where=str(file)) from None
    return f"sha256:{found.hexdigest()}"


@dataclass(slots=True)
class Results:
    """The results so far."""

    #: The rows, by the number of the case.
    rows: dict[int, Row] = field(default_factory=dict)
    _stream: IO[bytes] | None = None

    def add(self, row: Row) -> None:
        """Add the row of a case, and append it to the file if there is one."""
        self.rows[row.case] = row
        if self._stream is not None:
            self._stream.write(msgspec.json.encode(row) + b"\n")
            self._stream.flush()

    def left(self, n_cases: int) -> list[int]:
        """Return the numbers of the remaining cases, including failed ones, which are retried."""
        return [number for number in range(1, n_cases + 1) if number not in self.rows or self.rows[number].error]


@contextmanager
def open_results(path: str, job: SweepJob, *, resume: bool) -> Iterator[Results]:
    """Open the results of a sweep, with the rows that the file contains already.

    Args:
        path: The file; empty for none.
        resume: True to continue an existing file; if False, the file must not exist.

    Raises InputError if the file exists and ``resume`` is False, belongs to another sweep, or cannot be read or
        written.
    """
    if not path:
        yield Results()
        return
    header = Header(plan=digest(job), cases=len(job.read.cases))
    try:
        rows, end = _read(path, header) if resume and Path(path).exists() else ({}, 0)
        with open(path, "r+b" if end else "xb") as stream:
            if end:
                # The last line may be incomplete, if the process that wrote it was killed.
                stream.truncate(end)
                stream.seek(0, os.SEEK_END)
            else:
                stream.write(msgspec.json.encode(header) + b"\n")
                stream.flush()
            yield Results(rows, stream)
    except FileExistsError:
        hint = "--resume continues it if it belongs to this plan; otherwise give another name"
        raise InputError("already exists", where=path, hint=hint) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", where=path) from None


def _read(path: str, header: Header) -> tuple[dict[int, Row], int]:
    """Return the rows of a file, and the offset of the end of its last complete line."""
    rows: dict[int, Row] = {}
    end = 0
    with open(path, "rb") as stream:
        for number, line in enumerate(stream):
            if not line.endswith(b"\n"):
                break
            try:
                if number:
                    row = msgspec.json.decode(line, type=Row)
                    rows[row.case] = row
                else:
                    found = msgspec.json.decode(line, type=Header)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise InputError(
                    f"line {number + 1}: {error}", where=path, hint="it is not a file of results"
                ) from None
            if not number and found != header:
                hint = "the plan, a file that it names or the version of kschedctl differs: give another name"
                raise InputError("has the results of another sweep", where=path, hint=hint)
            end += len(line)
    if not end and Path(path).stat().st_size:
        raise InputError("is not a file of results", where=path)
    return rows, end

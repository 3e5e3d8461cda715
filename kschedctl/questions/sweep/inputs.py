"""The files that a sweep reads, for the comparison of sweeps and for the transfer to other machines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.questions.sweep.axis import CONFIG, EDITS_BY_NAME, OF, SNAPSHOT
from kschedctl.questions.sweep.job import SweepJob
from kschedctl.questions.sweep.plan import texts


class InputFile(msgspec.Struct, frozen=True):
    """A file to be transferred to another machine.

    Attributes
    ----------
    source : str
        The path in the plan, of the file or of the folder that contains it.
    name : str
        The path relative to that folder; empty if ``source`` is the file itself.
    """

    source: str
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

    Raises
    ------
    InputError
        If a file cannot be read.
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

    Parameters
    ----------
    folder : Path
        An empty folder.
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

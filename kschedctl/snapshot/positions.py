"""From a finding to the line and column of its field: the file is read again, and counted as the readers count."""

from __future__ import annotations

from pathlib import Path

from kschedctl.errors import InputError
from kschedctl.findings.finding import Finding
from kschedctl.findings.location import Location, Position
from kschedctl.snapshot.documents import any_documents
from kschedctl.snapshot.layouts import SIMULATOR_LISTS, steps_to
from kschedctl.snapshot.sources import read_sources
from kschedctl.snapshot.summary import ReadSummary
from kschedctl.snapshot.unpacking import Unpacking


def position_of(finding: Finding, *, key: bool = False) -> Position | None:
    """Where in its file a finding's field stands.

    Parameters
    ----------
    key : bool
        Whether the field's name is meant, not its value.

    Returns
    -------
    Position or None
        The field's value; where it is absent, its nearest parent (``kschedctl.text.positions``). ``None`` where the
        object is not from a file that can be read again, as one of an archive, of standard input or of a cluster.

    Notes
    -----
    A file that was changed since then may have something else there. An object of a list inside a list is found under
    the item of the outer one, so the position is that of the inner list.
    """
    if finding.position is not None:
        return finding.position
    # Of a file that is named in words, as a configuration is, the first document counts.
    place = finding.place if isinstance(finding.place, Location) else Location(finding.place)
    name, _, key_of_list = place.file.rpartition(":")
    file = name if key_of_list in SIMULATOR_LISTS else place.file
    content = _content(file)
    if content is None:
        return None
    try:
        found = next((each for each in any_documents(content, file) if each.location.document == place.document), None)
    except InputError:
        return None
    return None if found is None else found.position(finding.field, steps_to(place, file), key=key)


def _content(file: str) -> bytes | None:
    """What a file holds, decompressed; ``None`` where it is no file, or an archive."""
    if not Path(file).is_file():
        return None
    for source in read_sources([file], None, ReadSummary(), Unpacking()):
        if isinstance(source, InputError) or source.name != file:
            return None
        return Path(file).read_bytes() if source.path else source.content
    return None

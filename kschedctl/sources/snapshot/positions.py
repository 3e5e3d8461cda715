"""Positions of findings: the file is read again to find the line and column of a field."""

from pathlib import Path

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Finding, Location, Position
from kschedctl.sources.snapshot.archives import Unpacking
from kschedctl.sources.snapshot.documents import SIMULATOR_LISTS, any_documents, steps_to
from kschedctl.sources.snapshot.files import read_sources
from kschedctl.sources.snapshot.summary import ReadSummary


def position_of(finding: Finding, *, key: bool = False) -> Position | None:
    """Return the position of a finding's field in its file.

    Args:
        key: True for the position of the field's name, not of its value.

    Returns: The position of the field's value or, if the field is absent, of its nearest parent
        (``kschedctl.common.text.positions``). ``None`` if the object is not from a file that can be read again: a
        member of an archive, standard input, a cluster.

    The position may be wrong if the file has changed in the meantime. An object of a list inside a list has the item
    number of the outer list, so its position is that of the inner list.
    """
    if finding.position is not None:
        return finding.position
    # A place given as text, such as the file name of a configuration, means the first document.
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
    """Return a file's content, decompressed; ``None`` if it is not a file, or is an archive."""
    if not Path(file).is_file():
        return None
    for source in read_sources([file], None, ReadSummary(), Unpacking()):
        if isinstance(source, InputError) or source.name != file:
            return None
        return Path(file).read_bytes() if source.path else source.content
    return None

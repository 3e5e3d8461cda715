"""Objects that were met and not read; readers count them without the columns."""

from typing import NamedTuple


class Unread(NamedTuple):
    """Objects that seem to belong to the cluster and were not read.

    Args:
        what: A description of the objects, and the reason why they were not read.
    """

    kind: str
    what: str

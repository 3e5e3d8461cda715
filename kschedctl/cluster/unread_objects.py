"""Objects that were met and not read; readers count them without the columns."""

from __future__ import annotations

from typing import NamedTuple


class Unread(NamedTuple):
    """Objects that seem to belong to the cluster and were not read.

    Parameters
    ----------
    kind : str
        The kind of the objects, as far as it is known.
    what : str
        A description of the objects, and the reason why they were not read.
    """

    kind: str
    what: str

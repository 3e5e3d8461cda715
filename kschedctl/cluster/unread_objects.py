"""The kinds of objects that were not read of a cluster."""

from __future__ import annotations

from typing import NamedTuple


class Unread(NamedTuple):
    """What looks like part of the cluster and was not read.

    Parameters
    ----------
    kind : str
        The kind of the objects, as far as it is known.
    what : str
        What it is, and why it was not read.
    """

    kind: str
    what: str

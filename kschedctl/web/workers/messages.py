"""The messages between the server and its worker processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kschedctl.common.errors import KschedctlError
from kschedctl.questions.loading import ClusterRequest
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.watch.cache import LeftOut
from kschedctl.watch.feed import FeedChanges


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """The first message to a worker: the cluster.

    Attributes
    ----------
    version : int
        The version of the cluster.
    snapshot : Snapshot
        The cluster.
    request : ClusterRequest
        The rules that apply to it.
    left_out : dict
        The invalid objects that the snapshot does not contain, as in ``watch.cache.Cache``.
    """

    version: int
    snapshot: Snapshot
    request: ClusterRequest
    left_out: LeftOut


@dataclass(frozen=True, slots=True)
class Task:
    """A message to a worker: a function to call with the cluster.

    Attributes
    ----------
    number : int
        The number of the task.
    function : callable
        A function of a module: ``function(cluster, *arguments, handle)``.
    arguments : tuple
        Its further arguments.
    version : int
        The version of the cluster after the changes.
    changes : FeedChanges or None
        The changes of the cluster since the last task.
    """

    number: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    version: int
    changes: FeedChanges | None = None


@dataclass(frozen=True, slots=True)
class CancelTask:
    """A message to a worker: the task is not needed any more."""

    number: int


@dataclass(frozen=True, slots=True)
class Progress:
    """A message from a worker: the progress of its task.

    Attributes
    ----------
    work : str
        The current work, such as ``comparing pods``.
    done : int
        The number of items that are done.
    total : int or None
        The number of all items; ``None`` if unknown.
    """

    work: str
    done: int = 0
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A message from a worker: the result of its task.

    Attributes
    ----------
    value : object
        The value that the function returned.
    version : int
        The version of the cluster that it was called with.
    notices : tuple of str
        Notes and warnings that are no part of the value.
    """

    value: Any
    version: int
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A message from a worker: the task failed.

    Attributes
    ----------
    error : KschedctlError or None
        The error in the input; ``None`` for a bug, whose traceback the worker has written to standard error.
    """

    error: KschedctlError | None


def pickled(start: WorkerStart) -> bytes:
    """Return the first message to a worker as bytes."""
    return pickle.dumps(start, protocol=pickle.HIGHEST_PROTOCOL)

"""The messages between the server and its worker processes."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kschedctl.common.errors import KschedctlError
from kschedctl.questions.cluster_request import ClusterRequest
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.watch.cache import LeftOut
from kschedctl.watch.feed import FeedChanges


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """The first message to a worker: the cluster."""

    version: int
    #: The snapshot; ``None`` if the worker reads it.
    snapshot: Snapshot | None
    #: The rules that apply to it.
    request: ClusterRequest
    #: The invalid objects that the snapshot does not contain, as in ``watch.cache.Cache``.
    left_out: LeftOut


@dataclass(frozen=True, slots=True)
class Task:
    """A message to a worker: a function to call with the cluster."""

    #: The number of the task.
    number: int
    #: A function of a module: ``function(cluster, *arguments, handle)``.
    function: Callable[..., Any]
    #: Its further arguments.
    arguments: tuple[Any, ...]
    #: The version of the cluster after the changes.
    version: int
    #: The changes of the cluster since the last task.
    changes: FeedChanges | None = None


@dataclass(frozen=True, slots=True)
class CancelTask:
    """A message to a worker: the task is not needed any more."""

    number: int


@dataclass(frozen=True, slots=True)
class Progress:
    """A message from a worker: the progress of its task."""

    #: The current work, such as ``comparing pods``.
    work: str
    #: The number of items that are done.
    done: int = 0
    #: The number of all items; ``None`` if unknown.
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A message from a worker: the result of its task."""

    #: The value that the function returned.
    value: Any
    #: The version of the cluster that it was called with.
    version: int
    #: Notes and warnings that are no part of the value.
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A message from a worker: the task failed."""

    #: The error in the input; ``None`` for a bug, whose traceback the worker has written to standard error.
    error: KschedctlError | None


def pickled(start: WorkerStart) -> bytes:
    """Return the first message to a worker as bytes."""
    return pickle.dumps(start, protocol=pickle.HIGHEST_PROTOCOL)

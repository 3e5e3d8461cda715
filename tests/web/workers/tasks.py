"""Functions that tests run in worker processes."""

import os
import time

from kschedctl.common.errors import InputError
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.trials.loaded_cluster import LoadedCluster


def size(cluster: LoadedCluster, handle: AnalysisHandle) -> int:
    return len(cluster.nodes)


def fill(cluster: LoadedCluster, size: int, handle: AnalysisHandle) -> bytes:
    return bytes(size)


def measure(cluster: LoadedCluster, sent: bytes, handle: AnalysisHandle) -> int:
    return len(sent)


def process(cluster: LoadedCluster, handle: AnalysisHandle) -> int:
    return os.getpid()


def wait(cluster: LoadedCluster, seconds: float, handle: AnalysisHandle) -> bytes:
    """Wait as an analysis does that reports progress and can be cancelled."""
    for _ in handle.track(range(round(seconds * 100)), "waiting"):
        time.sleep(0.01)
    return b"done"


def hang(cluster: LoadedCluster, handle: AnalysisHandle) -> None:
    """Wait as an analysis does that looks at nothing."""
    time.sleep(600)


def refuse(cluster: LoadedCluster, handle: AnalysisHandle) -> None:
    raise InputError("is wrong", path="a.b", hint="do this", where="the place")


def fail(cluster: LoadedCluster, handle: AnalysisHandle) -> None:
    raise ZeroDivisionError("a secret of the bug")


def nest(cluster: LoadedCluster, handle: AnalysisHandle) -> None:
    nest(cluster, handle)


def die(cluster: LoadedCluster, handle: AnalysisHandle) -> None:
    os._exit(1)


def warn(cluster: LoadedCluster, handle: AnalysisHandle) -> int:
    handle.warn("it may rain")
    return 1

"""What would kube-scheduler do with this pod, and why? Offline, exactly.

>>> import kschedctl
>>> cluster = kschedctl.load("prod/")  # doctest: +SKIP
>>> cluster.explain("shop/web-7").best  # doctest: +SKIP
('node-2',)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedctl.api.pod import Pod
    from kschedctl.errors import ClusterError, InputError, KschedctlError, UnsupportedError
    from kschedctl.face import SchedulingCluster
    from kschedctl.loading import load
    from kschedctl.scheduler.decision import Decision, NodeVerdict

    __version__: str

__all__ = [
    "ClusterError",
    "Decision",
    "InputError",
    "KschedctlError",
    "NodeVerdict",
    "Pod",
    "SchedulingCluster",
    "UnsupportedError",
    "__version__",
    "load",
]

_HOMES = {
    "ClusterError": "kschedctl.errors",
    "Decision": "kschedctl.scheduler.decision",
    "InputError": "kschedctl.errors",
    "KschedctlError": "kschedctl.errors",
    "NodeVerdict": "kschedctl.scheduler.decision",
    "Pod": "kschedctl.api.pod",
    "SchedulingCluster": "kschedctl.face",
    "UnsupportedError": "kschedctl.errors",
    "load": "kschedctl.loading",
}


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: ``import kschedctl`` stays cheap."""
    if name == "__version__":
        from importlib.metadata import version

        return version("kschedctl")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

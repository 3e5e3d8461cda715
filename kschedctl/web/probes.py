"""The probes and metrics: ``/healthz``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

from typing import Any, Final

from litestar import MediaType, Request, Response, Router, get
from litestar.di import NamedDependency

from kschedctl.watch.server import checked
from kschedctl.web.metrics import METRICS_TYPE, exposition
from kschedctl.web.served import Served

_WITHHELD: Final = "reason withheld"


@get("/healthz", media_type=MediaType.TEXT)
async def healthz() -> str:
    """Report that the server responds."""
    return "ok"


@get("/readyz", media_type=MediaType.TEXT)
async def readyz(served: NamedDependency[Served]) -> Response[bytes]:
    """Report whether answers are current; the reasons are only in the log and in the pages."""
    problems = {"cluster": served.source.problem, "workers": "" if served.pool.is_warm else "starting"}
    status, _, text = checked("/readyz", {name: _WITHHELD if why else "" for name, why in problems.items()})
    return Response(text, status_code=status, media_type=MediaType.TEXT)


@get("/metrics")
async def metrics(request: Request[Any, Any, Any], served: NamedDependency[Served]) -> Response[bytes]:
    """Return the metrics in Prometheus' text format."""
    return Response(exposition(served), media_type=METRICS_TYPE)


PROBES: Final = Router("/", route_handlers=[healthz, readyz, metrics])

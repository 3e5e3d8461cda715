"""The application: pages, API, probes and metrics over one cluster."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from litestar import Litestar, MediaType, Request, Response, Router, get
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

import kschedctl.output.page
from kschedctl.watch.metrics import exposed
from kschedctl.watch.server import checked
from kschedctl.web.api import API
from kschedctl.web.errors import NotFoundError
from kschedctl.web.guard import Guard
from kschedctl.web.mcp.endpoint import endpoint
from kschedctl.web.pages import ROUTES
from kschedctl.web.problems import respond
from kschedctl.web.served import ClusterSource, Served
from kschedctl.web.settings import ServeSettings

# The metrics of the server in Prometheus' text format, collected on each request.

METRICS_TYPE: Final = "text/plain; version=0.0.4"
_PREFIX: Final = "kschedctl_serve"


class ServedCollector(Collector):
    """A collector for the metrics of the server."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics with their current values."""
        served = self._served
        responses = CounterMetricFamily(f"{_PREFIX}_responses", "Responses, by status.", labels=["status"])
        for status, number in served.responses.copy().items():
            responses.add_metric([str(status)], number)
        yield responses
        for name, text, value in (
            ("requests_running", "Requests that a process is computing.", served.pool.running),
            ("requests_waiting", "Requests that wait for a process.", served.pool.waiting),
            ("streams", "Open streams of events.", len(served.events)),
            ("cluster_version", "The version of the cluster, which grows with every change.", served.version),
            ("cluster_problem", "1 if the cluster is out of date, else 0.", int(bool(served.source.problem))),
        ):
            yield GaugeMetricFamily(f"{_PREFIX}_{name}", text, value=value)
        if served.source.age is not None:
            text = "Seconds since the cluster was last known to be up to date; for a snapshot, since it was taken."
            yield GaugeMetricFamily(f"{_PREFIX}_cluster_age_seconds", text, value=served.source.age)
        jobs = GaugeMetricFamily(f"{_PREFIX}_jobs", "Jobs that are remembered, by state.", labels=["state"])
        for state, number in served.jobs.counts.items():
            jobs.add_metric([state.value], number)
        yield jobs
        size = GaugeMetricFamily(f"{_PREFIX}_cluster_objects", "Objects in the cluster.", labels=["kind"])
        size.add_metric(["Node"], len(served.source.cluster.nodes))
        size.add_metric(["Pod"], len(served.source.cluster.pods))
        yield size


def exposition(served: Served) -> bytes:
    """Return the metrics of the server and of its process in Prometheus' text format."""
    return exposed(ServedCollector(served))


# The probes and metrics: ``/healthz``, ``/readyz`` and ``/metrics``.

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


# The files of pages: styles and scripts, which are read once when the server starts.

#: The folders with the files; of two files with one name, that of the later folder is served.
_FOLDERS: Final = (Path(kschedctl.output.page.__file__).parent, Path(__file__).with_name("static"))
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}


@cache
def static_files() -> Mapping[str, tuple[bytes, str]]:
    """Return content and media type of each file by its name."""
    paths = (path for folder in _FOLDERS for path in sorted(folder.iterdir()))
    return {path.name: (path.read_bytes(), _TYPES[path.suffix]) for path in paths if path.suffix in _TYPES}


@get("/{name:str}")
async def serve_file(name: FromPath[str]) -> Response[bytes]:
    """Return a file."""
    found = static_files().get(name)
    if found is None:
        raise NotFoundError("there is no such file")
    return Response(found[0], media_type=found[1])


STATIC: Final = Router("/static", route_handlers=[serve_file])


def create_app(source: ClusterSource, settings: ServeSettings) -> Litestar:
    """Return the application.

    Args:
        source: The source of the cluster; the application closes it when it ends.
    """
    served = Served(source, settings)

    def provide_served() -> Served:
        return served

    app = Litestar(
        route_handlers=[API, PROBES, STATIC, *ROUTES, *endpoint(served)],
        dependencies={"served": Provide(provide_served, sync_to_thread=False)},
        exception_handlers={Exception: respond},
        lifespan=[served.lifespan],
        logging_config=None,
        openapi_config=None,
        request_max_body_size=None,
        debug=False,
    )
    app.state.served = served
    handler: Any = app.asgi_handler
    guarded: Any = Guard(handler, settings, lambda status: served.responses.update((status,)))
    app.asgi_handler = guarded
    return app

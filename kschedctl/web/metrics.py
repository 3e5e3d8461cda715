"""The metrics of the server in Prometheus' text format, collected on each request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kschedctl.watch.metrics import exposed
from kschedctl.web.served import Served

METRICS_TYPE: Final = "text/plain; version=0.0.4"
_PREFIX: Final = "kschedctl_serve"


class ServedCollector(Collector):
    """A collector for the metrics of the server.

    Parameters
    ----------
    served : Served
        The state of the server.
    """

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

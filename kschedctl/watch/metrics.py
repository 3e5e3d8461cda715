"""The status of a watch as Prometheus metrics, collected on each request through the official client library."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from kschedctl.watch.loop import LoopStatus

_PREFIX = "kschedctl_watch"


class StatusCollector(Collector):
    """A collector for the metrics of a watch."""

    def __init__(self, status: LoopStatus) -> None:
        self._status = status

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics with their current values."""
        status, feed = self._status, self._status.feed
        waiting = GaugeMetricFamily(
            f"{_PREFIX}_pods_waiting",
            "Pending pods, by the plugin that rejects most nodes; 'none' if they fit now. Reported by the leader.",
            labels=["cause"],
        )
        leading = status.leading
        for cause, number in status.causes.copy().items() if leading else ():
            waiting.add_metric([cause], number)
        yield waiting
        answers = CounterMetricFamily(
            f"{_PREFIX}_answers", "Reported answers, by the result for the pod.", labels=["result"]
        )
        for result, number in status.answers.copy().items():
            answers.add_metric([result], number)
        yield answers
        yield CounterMetricFamily(
            f"{_PREFIX}_decisions", "Scheduling decisions computed for answers.", value=status.decisions
        )
        yield SummaryMetricFamily(
            f"{_PREFIX}_round_seconds",
            "Seconds to decide for all pending pods after changes.",
            count_value=status.rounds,
            sum_value=status.round_seconds,
        )
        yield SummaryMetricFamily(
            f"{_PREFIX}_answered_after_seconds",
            "Seconds from the first change of a round to the report of its answers.",
            count_value=status.rounds,
            sum_value=status.answered_after,
        )
        yield GaugeMetricFamily(
            f"{_PREFIX}_cache_age_seconds",
            "Seconds since the last response of the API server, for the kind with the oldest one.",
            value=feed.age,
        )
        size = GaugeMetricFamily(f"{_PREFIX}_cache_objects", "Objects in the cache.", labels=["kind"])
        size.add_metric(["Node"], status.nodes)
        size.add_metric(["Pod"], status.pods)
        yield size
        yield CounterMetricFamily(
            f"{_PREFIX}_cache_compactions", "Number of times the cache was rebuilt.", value=status.compactions
        )
        lists = CounterMetricFamily(f"{_PREFIX}_lists", "Number of lists of a kind.", labels=["kind"])
        failures = CounterMetricFamily(
            f"{_PREFIX}_failures", "Number of failed lists and watches of a kind.", labels=["kind"]
        )
        for kind, reach in feed.reach.items():
            lists.add_metric([kind], reach.listed)
            failures.add_metric([kind], reach.failures)
        yield from (lists, failures)
        yield GaugeMetricFamily(
            f"{_PREFIX}_leading", "1 if this replica is the leader and reports, else 0.", value=int(leading)
        )
        events = CounterMetricFamily(f"{_PREFIX}_events", "Events about pods, by outcome.", labels=["outcome"])
        for outcome, number in status.written().items():
            events.add_metric([outcome], number)
        yield events


def exposition(status: LoopStatus) -> bytes:
    """Return the metrics of a watch and of its process in Prometheus' text format."""
    return exposed(StatusCollector(status))


def exposed(own: Collector) -> bytes:
    """Return the metrics of a collector and of this process in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(own)
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return generate_latest(registry)

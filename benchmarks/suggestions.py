"""Time to find changes that make a pod fit, compared with the decision alone: python -m benchmarks.suggestions"""

import argparse
import statistics
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from benchmarks import synthetic
from benchmarks.cycle import with_other_request
from benchmarks.rows import Row, report, timed
from kschedctl.diagnosis.pending_groups import group_pending_pods
from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.unblocking_changes import unblock
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.pod import Pod, TopologySpreadConstraint
from kschedctl.objects.well_known import ZONE
from kschedctl.scheduler.cycle.scheduler import Scheduler

#: The median of so many searches is shown.
N_REPEATS: Final = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suggestions", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--most", type=int, default=5, help="as many as explain looks for (5)")
    parser.add_argument("--waiting", type=int, default=1_000, help="pods that wait (1000)")
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the CPU time of the search for each pod that does not fit, and of the report of all pending pods."""
    scheduler = Scheduler(synthetic.cluster(args.nodes, args.pods))
    for kind, pod in waiting().items():
        decisions = [scheduler.decide(with_other_request(pod, i)) for i in range(N_REPEATS)]
        found = suggest(scheduler.decide(pod), args.most)
        searched = statistics.median(timed(suggest, decision, args.most)[1] for decision in decisions)
        first = f": {found.suggestions[0].summary}" if found.suggestions else ""
        note = f"{len(found.suggestions)} of {found.tried} changes tried{first}"
        yield Row(f"suggestions, {kind}, {args.nodes:,} nodes", searched, "ms", note)
    yield _pending(scheduler, args.waiting)


def _pending(scheduler: Scheduler, number: int) -> Row:
    """Measure the report of ``number`` pending pods in ten classes."""
    kinds = list(waiting().values())
    kinds += [_requesting(pod, "memory", f"{200 + i}Gi") for i, pod in enumerate(kinds)][: 10 - len(kinds)]
    pods = [
        replace(kinds[i % 10], metadata=replace(kinds[i % 10].metadata, name=f"waits-{i % 10}-{i // 10}", uid=f"u-{i}"))
        for i in range(number)
    ]
    scheduler = scheduler.moved(scheduler.cluster.with_pods(added=pods))
    groups, decided = timed(group_pending_pods, scheduler, pods)
    found, searched = timed(unblock, scheduler, groups)
    changes = "; ".join(f"{one.summary} ({len(one.placed)})" for one in found.changes)
    what = f"{number:,} pending pods in {len(groups)} groups, {len(scheduler.cluster.nodes):,} nodes"
    return Row(what, decided + searched, "ms", f"would place: {changes}")


def waiting() -> dict[str, Pod]:
    """Return pods that do not fit, by the reason."""
    plain = synthetic.pod_to_place("plain")
    large = _requesting(plain, "cpu", "4000")
    return {
        "too much cpu": _requesting(plain, "cpu", "61.8"),
        "more than any node": large,
        "no such label": replace(plain, spec=replace(plain.spec, node_selector={"pool": "memroy"})),
        "label and cpu": replace(large, spec=replace(large.spec, node_selector={"pool": "memroy"})),
        "preempting": synthetic.pod_to_place("preempt"),
        "spread over more zones": _spread(plain),
    }


def _requesting(pod: Pod, resource: str, quantity: str) -> Pod:
    container = pod.spec.containers[0]
    resources = replace(container.resources, requests={**container.resources.requests, resource: quantity})
    return replace(pod, spec=replace(pod.spec, containers=(replace(container, resources=resources),)))


def _spread(pod: Pod) -> Pod:
    constraint = TopologySpreadConstraint(
        max_skew=1,
        topology_key=ZONE,
        when_unsatisfiable="DoNotSchedule",
        label_selector=LabelSelector(),
        min_domains=50,
    )
    return replace(pod, spec=replace(pod.spec, topology_spread_constraints=(constraint,)))


if __name__ == "__main__":
    main()

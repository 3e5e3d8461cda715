"""CPU time of the report of pending pods, on a small and on a large cluster: python -m benchmarks.pending"""

import argparse
from collections.abc import Iterator

from msgspec.structs import replace

from benchmarks import synthetic
from benchmarks.rows import Row, report, timed
from benchmarks.suggestions import waiting
from kschedctl.diagnosis.pending_groups import group_pending_pods
from kschedctl.diagnosis.why.unblocking_changes import unblock
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler

#: The number of workloads, and nodes, pods and pending pods of the clusters.
N_WORKLOADS = 20
#: Each report is about a fresh cluster, and the median of so many is shown.
N_REPEATS = 3
SIZES = ((14, 93, 23), (1_213, 6_823, 40))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pending", description=__doc__)
    report(parser, measure)


def measure(_args: argparse.Namespace) -> Iterator[Row]:
    """Yield the CPU time of the report on each cluster; notes have the part of the decisions."""
    for n_nodes, n_pods, n_pending in SIZES:
        pods = list(pending(n_pending))
        times = []
        for _ in range(N_REPEATS):
            cluster = synthetic.cluster(n_nodes, n_pods - n_pending)
            scheduler = Scheduler(cluster.with_pods(added=pods))
            groups, decided = timed(group_pending_pods, scheduler, pods)
            found, searched = timed(unblock, scheduler, groups)
            times.append((decided + searched, decided))
        milliseconds, decided = sorted(times)[N_REPEATS // 2]
        note = f"{len(groups)} groups, {decided:.0f} ms to decide; {len(found.changes)} changes"
        yield Row(f"{n_pending} pending pods of {n_pods:,}, {n_nodes:,} nodes", milliseconds, "ms", note)


def pending(number: int) -> Iterator[Pod]:
    """Yield pods that do not fit, of 20 workloads: every reason in several sizes and priorities."""
    kinds = list(waiting().values())
    for i in range(number):
        workload = i % N_WORKLOADS
        kind = kinds[workload % len(kinds)]
        owners = tuple(
            replace(one, name=f"waits-{workload}", uid=f"o-{workload}") for one in kind.metadata.owner_references
        )
        labels = {**kind.metadata.labels, "app": f"waits-{workload}"}
        metadata = replace(
            kind.metadata, name=f"waits-{workload}-{i}", uid=f"u-{i}", labels=labels, owner_references=owners
        )
        yield replace(kind, metadata=metadata, spec=replace(kind.spec, priority=(kind.spec.priority or 0) + workload))


if __name__ == "__main__":
    main()

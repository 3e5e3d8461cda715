"""Time beside that of the real kube-scheduler, over the same cluster in turns: python -m benchmarks.real_scheduler

Both decide for the same pods, 50 in a turn, and place each before the next. All nodes are filtered and all feasible
ones scored; for a pod that fits nowhere, every node is tried for preemption. Gangs are those of ``benchmarks.gang``,
decided by each release that schedules groups. The real scheduler runs as a library, without an API server and with its
default parallelism: ``python -m conformance build 1.37`` builds the program (``conformance/judge/bench.go``).
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, ParamSpec, TypeVar

import msgspec

from benchmarks import gang, synthetic
from benchmarks.cycle import with_other_request
from benchmarks.many import KINDS, TURN, bind, deployments
from benchmarks.rows import Row, report, timed
from benchmarks.synthetic import Object
from conformance.builds import built
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.defaults import DEFAULT_SCHEDULER_NAME
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD, TOPOLOGY_AWARE
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_cycle import schedule_pod_group
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.runtime import Framework

P = ParamSpec("P")
T = TypeVar("T")

#: Turns of the pods that preempt; each has one pod.
N_PREEMPTING: Final = 5
#: The releases whose queue has groups, and the kinds of gangs.
GROUP_RELEASES: Final = ("1.37", "1.38")
GANGS: Final = ("nodes", "preempt")


class Spent(NamedTuple):
    """CPU and wall-clock time in milliseconds."""

    cpu: float
    wall: float

    def per(self, number: int) -> "Spent":
        return Spent(self.cpu / number, self.wall / number)


class Told(msgspec.Struct):
    """The answer of the real scheduler: how long it took, in seconds, and what it came to."""

    seconds: float
    wall: float
    placed: int
    #: The node of every search for a member of a gang, empty where it found none.
    picks: list[str] = []
    #: The pods that a gang evicts, as ``namespace/name``, sorted.
    victims: list[str] = []

    @property
    def spent(self) -> Spent:
        return Spent(self.seconds * 1e3, self.wall * 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_scheduler", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000, help="pods that run already")
    parser.add_argument("--bind", type=int, default=200, help="pods of each kind to bind")
    parser.add_argument("--members", type=int, default=256, help="pods of a gang; 0 for no gangs")
    parser.add_argument("--gangs", type=int, default=3, help="gangs of each kind")
    parser.add_argument("--judge", type=Path, default=built(LATEST.version), help="the program (of the newest release)")
    report(parser, measure)


class RealScheduler:
    """The real scheduler as a process, which decides for the pods that it is sent.

    Args:
        objects: The nodes of the cluster and the pods on them.
    """

    def __init__(self, program: Path, objects: Iterable[Object]) -> None:
        self._process = subprocess.Popen([program, "-bench"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for item in objects:
            self._send(item)

    def decide(self, pods: Sequence[Pod], *before: Object) -> Told:
        """Decide for pods and place them one after another; with their PodGroup before them, as one gang."""
        self._send([*before, *map(_manifest, pods)])
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Told)

    def _send(self, data: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(data) + b"\n")

    def __enter__(self) -> "RealScheduler":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the real scheduler's CPU time as a multiple of ours for each kind of pods; notes have all times."""
    if args.judge is None:
        sys.exit(f"the program is not built: python -m conformance build {LATEST.version}")
    cluster = synthetic.cluster(args.nodes, args.pods)
    size = f"{args.nodes:,} nodes and {args.pods:,} pods"
    objects = chain(synthetic.nodes(args.nodes), synthetic.pods(args.pods, args.nodes))
    with RealScheduler(args.judge, objects if args.bind else ()) as real:
        for kind in KINDS if args.bind else ():
            first, *pods = deployments(kind, args.bind + 1)
            # Data that is computed once per cluster is computed before the measurement.
            scheduler = bind(Scheduler(cluster), first)
            real.decide([first])
            both = []
            for start in range(0, args.bind, TURN):
                turn = pods[start : start + TURN]
                scheduler, ours = _spent(reduce, bind, turn, scheduler)
                both.append((ours.per(len(turn)), real.decide(turn).spent.per(len(turn))))
            yield _compared(f"kube-scheduler: a pod of the kind {kind} placed, {size}", both)
        if args.bind:
            preempting = [with_other_request(synthetic.pod_to_place("preempt"), i) for i in range(N_PREEMPTING + 1)]
            scheduler = Scheduler(cluster)
            both = [(_spent(scheduler.decide, pod)[1], real.decide([pod]).spent) for pod in preempting][1:]
            yield _compared(f"kube-scheduler: candidates for preemption, {size}", both)
    for release in GROUP_RELEASES if args.members else ():
        program: Path | None = args.judge if release == LATEST.version else built(release)
        if program is not None:
            yield from (_gangs(args, cluster, release, kind, program) for kind in GANGS)


def _gangs(args: argparse.Namespace, cluster: Cluster, release: str, kind: str, program: Path) -> Row:
    """Return the times for gangs of a kind; each is decided as if it were the only one."""
    rules = RELEASES[release].with_features({GENERIC_WORKLOAD: True, TOPOLOGY_AWARE: True})
    cluster = gang.with_gpus(cluster, 1)
    objects = [{"apiVersion": "v1", "kind": "Node"} | msgspec.to_builtins(node) for node in cluster.nodes.objects]
    on_nodes = synthetic.pods(args.pods, args.nodes)
    low: list[Pod] = []
    if kind == "preempt":
        low = [gang.gpu_pod(f"low-{name}", gang.GPUS_PER_NODE, node=name) for name in cluster.nodes.names]
    gangs = [gang.members(f"gang-{number}", number, args.members) for number in range(args.gangs + 1)]
    groups = [gang.group(kind, members) for members in gangs]
    cluster = cluster.with_added(groups).with_pods(added=[*low, *chain.from_iterable(gangs)])
    framework = Scheduler(cluster, rules).framework(DEFAULT_SCHEDULER_NAME)
    both, outcomes = [], []
    with RealScheduler(program, chain(objects, on_nodes, map(_manifest, low))) as real:
        for group, members in zip(groups, gangs, strict=True):
            decision, ours = _spent(gang.decide, framework, members)
            manifest = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup"} | msgspec.to_builtins(group)
            told = real.decide(members, manifest)
            fitting = sum(member.fits for member in decision.members)
            followed = _following(framework, members, told.picks)
            if fitting != told.placed or followed != told.victims:
                sys.exit(f"{release}: another answer than kube-scheduler's for a gang of the kind {kind}")
            both.append((ours, told.spent))
            outcomes.append((fitting, len(decision.victims), len(told.victims)))
    size = f"{args.nodes:,} nodes and {args.pods:,} pods: {gang.KINDS[kind]}"
    fitting, n_victims, their_victims = outcomes[-1]
    outcome = f"{fitting} members find a node"
    if not fitting:
        outcome = f"{their_victims} victims, the same as ours on its random picks of equal nodes; {n_victims} on ours"
    row = _compared(f"kube-scheduler {release}: a gang of {args.members} pods, {size}", both[1:])
    return row._replace(note=f"{row.note}; {outcome}")


def _following(framework: Framework, members: Sequence[Pod], picks: Iterable[str]) -> list[str]:
    """Return our victims, by name, for a gang whose members take given nodes, each one of the best in our search.

    Of equally good nodes kube-scheduler takes a random one, and other nodes have other pods on them.
    """
    left = iter(picks)

    def pick(pod: Pod, decision: Decision) -> str:
        node = next(left, "")
        if node not in (decision.best or ("",)):
            sys.exit(f"kube-scheduler takes {node or 'no node'} for {pod.name}, which is not among our best nodes")
        return node

    decision = schedule_pod_group(framework, members, pick)
    return sorted(map(decision.cluster.pods.key, decision.victims))


def _spent(called: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, Spent]:
    begin = time.perf_counter()
    result, cpu = timed(called, *args, **kwargs)
    return result, Spent(cpu, (time.perf_counter() - begin) * 1e3)


def _manifest(pod: Pod) -> Object:
    manifest: Object = {"apiVersion": "v1", "kind": "Pod"} | msgspec.to_builtins(pod)
    return manifest


def _compared(what: str, both: Sequence[tuple[Spent, Spent]]) -> Row:
    """Return their CPU time as a multiple of ours; pairs have ours first."""
    ratio = statistics.median(theirs.cpu / ours.cpu for ours, theirs in both)
    in_wall_time = statistics.median(theirs.wall / ours.wall for ours, theirs in both)
    ours, theirs = (Spent(*map(statistics.median, zip(*side, strict=True))) for side in zip(*both, strict=True))
    note = (
        f"{theirs.cpu:.2f} ms, ours {ours.cpu:.2f} ms; wall-clock {in_wall_time:.1f} times ours: "
        f"{theirs.wall:.2f} ms, ours {ours.wall:.2f} ms; in {len(both)} turns"
    )
    return Row(what, ratio, "times ours", note)


if __name__ == "__main__":
    main()

"""CPU time of answers about many pods of a cluster: python -m benchmarks.every_pod

``diff`` decides twice for each pod that runs, each time over the cluster without that pod, and compares. The pending
pods are alike but for ten of them, and most of them do not fit. The DaemonSet has no pods yet.
"""

import argparse
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import kschedctl
from benchmarks import synthetic
from benchmarks.rows import Row, report, timed
from kschedctl.objects.workload import DaemonSet
from kschedctl.questions.explain.analysis import explain_daemon_set
from kschedctl.questions.explain.request import ExplainRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.manifests import ObjectSubject

#: The number of pending pods that request more than the others.
N_OTHERS: Final = 10


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.every_pod", description=__doc__)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=3_000)
    parser.add_argument("--alike", type=int, default=2_000, help="pending pods that are alike (2000)")
    parser.add_argument("--daemon-nodes", type=int, default=5_000, help="nodes with a pod of the DaemonSet (5000)")
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the CPU time of each answer on a fresh cluster."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.json"
        objects = (synthetic.namespaces(), synthetic.nodes(args.nodes), synthetic.pods(args.pods, args.nodes))
        synthetic.write_list(path, chain.from_iterable(objects))
        cluster = kschedctl.load(path)
        cordoned = kschedctl.load(path, edits=[kschedctl.Cordon("node-0")])
    size = f"{args.pods:,} pods, {args.nodes:,} nodes"
    names = [pod.key for pod in cluster.pods]
    found, milliseconds = timed(cluster.diff, cordoned, names)
    yield Row(f"diff of {size}, one cordoned", milliseconds, "ms", f"{len(found.changed):,} pods change")
    _, milliseconds = timed(cluster.verify)
    yield Row(f"verify of {size}", milliseconds, "ms")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.json"
        synthetic.write_list(path, (*synthetic.nodes(3), *_alike(args.alike)))
        cluster = kschedctl.load(path)
    _, milliseconds = timed(cluster.pending)
    yield Row(f"pending of {args.alike + N_OTHERS:,} pods, {args.alike:,} of them alike, 3 nodes", milliseconds, "ms")
    yield _of_daemon_set(args.daemon_nodes)


def _alike(number: int) -> Iterator[dict[str, Any]]:
    """Yield pending pods of which the first are alike, and the others request ever more."""
    for i in range(number + N_OTHERS):
        name = f"other-{i}" if i >= number else f"web-{i}"
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
        requests = {"cpu": str(max(i - number + 2, 1)), "memory": "1Gi"}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": name, "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]},
            "status": {"phase": "Pending"},
        }


def _of_daemon_set(n_nodes: int) -> Row:
    """Measure the explanation of all pods of a DaemonSet, with the creation of these pods."""
    labels = {"app": "agent"}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    daemon_set = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.json"
        synthetic.write_list(path, (*synthetic.nodes(n_nodes), *synthetic.pods(20 * n_nodes, n_nodes), daemon_set))
        engine = kschedctl.load(path).engine
    (stored,) = engine.cluster.list(DaemonSet)

    def explained() -> None:
        made, pods = ObjectSubject(stored, {}).pods(engine)
        explain_daemon_set(engine.with_made(made), ExplainRequest(pod=tuple(pods)), AnalysisHandle())

    return Row(f"explain of a DaemonSet, {n_nodes:,} nodes", timed(explained)[1], "ms")


if __name__ == "__main__":
    main()

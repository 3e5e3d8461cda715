"""Sequences of pods on clusters in which kube-scheduler looks at a sample of the nodes (``percentageOfNodesToScore``).

The reference scheduler filters one node after another and starts at the first node of its list. So the start of each
cycle is known, and each of its choices has to be a best node of the sample of this start.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from conformance import jsonlines
from conformance.asking import Judge
from conformance.builds import build
from conformance.generate.chance import Chance
from conformance.jsonlines import Object
from conformance.recordings import RECORDINGS
from kschedctl.objects.releases.release import RELEASES
from kschedctl.questions.batch.cases import CaseCluster, read_case_cluster, read_case_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import SearchScope
from kschedctl.scheduler.cycle.sampling import nodes_to_find, samples, search_scope
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND
from kschedctl.scheduler.plugins.registry import in_tree_registry

SAMPLES: Final = RECORDINGS / "samples"
CASES: Final = SAMPLES / "cases.jsonl.gz"
_HOSTNAME, _ZONE, _REGION = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"


def answers(version: str) -> Path:
    """Return the file with the recorded choices of a release."""
    return SAMPLES / f"v{version}.jsonl.gz"


def cases(seed: int, count: int) -> Iterator[Object]:
    """Yield fresh sequences; a case depends only on its seed and number."""
    for number in range(count):
        chance = Chance(f"samples {seed} {number}")
        percentage = (0, 0, 10, 30, 100)[number % 5]
        profile = {"schedulerName": "default-scheduler", "percentageOfNodesToScore": percentage}
        yield {
            "id": f"samples-{seed}-{number:02d}",
            "objects": [_node(chance, i) for i in range(chance.between(110, 320))],
            "pods": [_pod(chance, i) for i in range(40)],
            "config": {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]},
        }


def _node(chance: Chance, number: int) -> Object:
    # The names are not in the order of the zones.
    name = f"n{number * 37 % 1000:03d}"
    zone = chance.pick({_ZONE: "a", _REGION: "r"}, {_ZONE: "a"}, {_ZONE: "b"}, {_ZONE: "b"}, {_BETA_ZONE: "c"}, {})
    size = {"cpu": str(chance.between(2, 16)), "memory": f"{chance.between(4, 64)}Gi", "pods": "20"}
    spec: Object = {}
    if chance.odds(0.2):
        effect = chance.pick("PreferNoSchedule", "PreferNoSchedule", "NoSchedule")
        spec["taints"] = [{"key": "dedicated", "effect": effect}]
    if chance.odds(0.05):
        spec["unschedulable"] = True
    labels = {_HOSTNAME: name, "disk": chance.pick("ssd", "hdd"), **zone}
    metadata = {"name": name, "uid": f"uid-{name}", "labels": labels}
    status = {"allocatable": size, "capacity": size}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _pod(chance: Chance, number: int) -> Object:
    app = chance.pick("x", "y")
    own = {"labelSelector": {"matchLabels": {"app": app}}}
    key = chance.pick(_ZONE, _HOSTNAME)
    # A pod with such terms has no signature, so that it is never scheduled with the pod before (OpportunisticBatching).
    term = {"podAffinityTerm": {"topologyKey": key, **own}, "weight": chance.between(1, 100)}
    of_nodes = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    affinity: Object = {
        chance.pick("podAffinity", "podAntiAffinity"): {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
    }
    if chance.odds(0.5):
        preferred = {"weight": chance.between(1, 100), "preference": of_nodes}
        affinity["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}
    requests = {"cpu": chance.pick("250m", "1", "3", "40"), "memory": chance.pick("1Gi", "7Gi")}
    spec: Object = {"containers": [{"name": "c", "image": "x", "resources": {"requests": requests}}]}
    if chance.odds(0.5):
        softly = {"maxSkew": chance.between(1, 3), "whenUnsatisfiable": "ScheduleAnyway", **own}
        spec["topologySpreadConstraints"] = [
            {**softly, "topologyKey": each} for each in chance.some([_ZONE, _HOSTNAME], 1)
        ]
    if chance.odds(0.3):
        spec["nodeSelector"] = {"disk": "ssd"}
    if chance.odds(0.3):
        spec["tolerations"] = [{"operator": "Exists"}]
    metadata = {"name": f"p{number:02d}", "namespace": "default", "uid": f"uid-{number}", "labels": {"app": app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "affinity": affinity}}


def chosen(answer: Object) -> list[str]:
    """Return the node of each attempt of the reference scheduler; empty for an attempt without one."""
    return [made.get("node", "") for made in answer["attempts"]]


def differing(case: Object, nodes: Sequence[str], version: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the attempts of a sequence in which the reference scheduler chose a node that we do not expect.

    Parameters
    ----------
    nodes : sequence of str
        The choices of the reference scheduler, which are followed; its attempts are in the order of the pods.

    Returns
    -------
    list of (str, str, tuple of str)
        The pod, the chosen node, and the nodes that we expect.
    """
    cluster = CaseCluster(id=case["id"], objects=tuple(case["objects"]), config=case["config"])
    scheduler = read_case_cluster(cluster, RELEASES[version], in_tree_registry())
    found, start = [], 0
    for written, node in zip(case["pods"], nodes, strict=True):
        pod = read_case_pod(written, "pods")
        expected, start = _expected(scheduler, scheduler.decide(pod), start)
        if (node or None) not in (expected or (None,)):
            found.append((pod.name, node, expected))
        if node:
            bound = replace(pod, spec=replace(pod.spec, node_name=node))
            scheduler = scheduler.moved(scheduler.cluster.with_pods(added=[bound]))
    return found


def _expected(scheduler: Scheduler, decision: Decision, start: int) -> tuple[tuple[str, ...], int]:
    """Return the best nodes of the sample of a start, and the start of the next cycle."""
    percentage = scheduler.percentage_of_nodes_to_score("default-scheduler")
    nodes = decision.cluster.nodes
    if not decision.schedulable or search_scope(decision, percentage) is not SearchScope.SAMPLE:
        return decision.best, (start + len(decision.searched)) % len(nodes)
    found = samples(decision, nodes_to_find(decision, percentage))
    sample = next(each for each in found if (start - each.first_start) % len(nodes) < each.n_starts)
    return nodes.sorted_names(sample.best), sample.next_start


def run(args: argparse.Namespace) -> int:
    """Compare or record the choices of the reference scheduler; return exit code 1 if some differ."""
    asked: list[Any] = list(jsonlines.read(CASES) if args.seed is None else cases(args.seed, args.count))
    with Judge(build(args.release)) as judge:
        said = list(judge.ask(asked))
    if args.record:
        if args.seed is not None:
            jsonlines.write(CASES, asked)
        jsonlines.write(answers(args.release), ({"id": each["id"], "nodes": chosen(each)} for each in said))
    differences = [
        (case["id"], *each)
        for case, answer in zip(asked, said, strict=True)
        for each in differing(case, chosen(answer), args.release)
    ]
    for name, pod, node, expected in differences:
        print(f"{name} {pod}: {node or 'no node'}, expected {', '.join(expected) or 'no node'}")
    print(f"{args.release}: {sum(len(chosen(each)) for each in said)} choices, {len(differences)} differ")
    return bool(differences)

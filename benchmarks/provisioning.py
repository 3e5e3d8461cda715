"""CPU time of a round of Karpenter's provisioner: python -m benchmarks.provisioning"""

import argparse
import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec

from benchmarks.rows import Row, report, timed
from kschedctl.questions.batch.provisioning import ProvisioningCase, plan_of

_ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
_SIZES = (("large", 2), ("xlarge", 4), ("2xlarge", 8), ("4xlarge", 16), ("8xlarge", 32), ("12xlarge", 48))
_AWS = "karpenter.k8s.aws"
_READY = ("ValidationSucceeded", "NodeClassReady", "Ready")


def instance_types(count: int) -> list[dict[str, Any]]:
    """Return instance types of families of six sizes."""
    out = []
    for number in range(count):
        size, cpus = _SIZES[number % len(_SIZES)]
        family = f"{'cmr'[number // len(_SIZES) % 3]}{number // len(_SIZES)}"
        memory = cpus * (2, 4, 8)[number // len(_SIZES) % 3]
        price = cpus * 0.04 * (1 + number % 7 / 10)
        out.append(
            {
                "name": f"{family}.{size}",
                "arch": "arm64" if number // len(_SIZES) % 4 == 3 else "amd64",
                "os": ["linux"],
                "capacity": {"cpu": str(cpus), "memory": f"{memory}Gi", "pods": "110", "ephemeral-storage": "20Gi"},
                "overhead": {"cpu": "100m", "memory": "600Mi"},
                "labels": {
                    f"{_AWS}/instance-family": family,
                    f"{_AWS}/instance-category": family[0],
                    f"{_AWS}/instance-size": size,
                    f"{_AWS}/instance-cpu": str(cpus),
                    "topology.kubernetes.io/region": "eu-west-1",
                },
                "offerings": [
                    {"zone": zone, "capacityType": kind, "price": price * share, "available": True}
                    for zone in _ZONES
                    for kind, share in (("on-demand", 1.0), ("spot", 0.35))
                ],
            }
        )
    return out


def node_pools(count: int) -> list[dict[str, Any]]:
    """Return pools of different weights, some of them tainted or for one zone or architecture."""
    out = []
    for number in range(count):
        requirements = [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]
        if number % 4 == 1:
            requirements.append({"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]})
        if number % 4 == 2:
            zone = _ZONES[number % 3]
            requirements.append({"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]})
        taints = [{"key": "dedicated", "value": f"team-{number}", "effect": "NoSchedule"}] if number % 3 == 0 else []
        template = {
            "spec": {
                "nodeClassRef": {"group": _AWS, "kind": "EC2NodeClass", "name": "default"},
                "requirements": requirements,
                "taints": taints,
            }
        }
        out.append(
            {
                "apiVersion": "karpenter.sh/v1",
                "kind": "NodePool",
                "metadata": {"name": f"pool-{number:02d}"},
                "spec": {"weight": number % 5 + 1, "template": template, "limits": {"cpu": "20000"}},
                "status": {"conditions": [{"type": each, "status": "True"} for each in _READY]},
            }
        )
    return out


def pods(count: int, kinds: int, chance: random.Random) -> list[dict[str, Any]]:
    """Return pending pods of workloads, every fifth of which spreads over zones and every tenth over hosts."""
    out = []
    for number in range(count):
        kind = number % kinds
        labels = {"app": f"app-{kind}"}
        spec: dict[str, Any] = {
            "containers": [
                {
                    "name": "main",
                    "image": "x",
                    "resources": {
                        "requests": {"cpu": f"{100 * (kind % 16 + 1)}m", "memory": f"{256 * (kind % 11 + 1)}Mi"}
                    },
                }
            ],
            "schedulerName": "default-scheduler",
        }
        if kind % 5 == 0:
            key = "kubernetes.io/hostname" if kind % 10 == 0 else "topology.kubernetes.io/zone"
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": key,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": labels},
                }
            ]
        out.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"app-{kind}-{number}",
                    "namespace": "default",
                    "uid": f"{chance.getrandbits(64):016x}",
                    "labels": labels,
                    "creationTimestamp": "2026-10-30T00:00:00Z",
                },
                "spec": spec,
                "status": {
                    "phase": "Pending",
                    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
                },
            }
        )
    return out


def nodes(count: int, chance: random.Random) -> list[dict[str, Any]]:
    """Return nodes that nobody manages, most of them full."""
    out = []
    for number in range(count):
        cpus = chance.choice((4, 8, 16))
        free = chance.choice((0, 0, 0, 1))
        out.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": f"node-{number}",
                    "labels": {
                        "kubernetes.io/hostname": f"node-{number}",
                        "topology.kubernetes.io/zone": _ZONES[number % 3],
                        "kubernetes.io/arch": "amd64",
                        "kubernetes.io/os": "linux",
                    },
                },
                "spec": {},
                "status": {
                    "capacity": {"cpu": str(cpus), "memory": f"{cpus * 4}Gi", "pods": "110"},
                    "allocatable": {"cpu": str(free), "memory": f"{cpus * 4}Gi", "pods": "110"},
                },
            }
        )
    return out


#: Pending pods, kinds of pods, pools, instance types and existing nodes.
SIZES = ((5000, 50, 20, 600, 0), (100, 20, 20, 600, 1000))


def case(n_pods: int, kinds: int, pools: int, types: int, n_nodes: int) -> dict[str, Any]:
    """Return a case of ``kschedctl batch``."""
    chance = random.Random(1)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    objects = [namespace, *node_pools(pools), *nodes(n_nodes, chance), *pods(n_pods, kinds, chance)]
    return {"id": "pods-1-0001", "objects": objects, "instanceTypes": instance_types(types)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.provisioning", description=__doc__)
    parser.add_argument(
        "--cases", action="store_true", help="print the cases, which Karpenter's own provisioner answers too"
    )
    if parser.parse_known_args()[0].cases:
        for size in SIZES:
            print(json.dumps(case(*size)))
        return
    report(parser, measure)


def measure(_args: argparse.Namespace) -> Iterator[Row]:
    """Yield the CPU time of a round, with reading its objects."""
    for size in SIZES:
        asked = msgspec.convert(case(*size), ProvisioningCase)
        plan, milliseconds = timed(plan_of, asked)
        what = f"{size[0]:,} pending pods, {size[4]:,} nodes, {size[2]} NodePools, {size[3]} instance types"
        yield Row(what, milliseconds, "ms", f"{len(plan.nodes)} new nodes, {len(plan.placed)} pods on existing ones")


if __name__ == "__main__":
    main()

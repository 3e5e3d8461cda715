"""CPU time of one explain of a pod with a claim, all nodes searched: python -m benchmarks.devices"""

import argparse
import random
import statistics
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from benchmarks import synthetic
from benchmarks.rows import Row, profiled, report, timed
from benchmarks.synthetic import Object
from kschedctl.objects.device import DeviceClass, ResourceClaim, ResourceSlice
from kschedctl.objects.pod import PodResourceClaim
from kschedctl.scheduler.cycle.scheduler import Scheduler

DRIVER = "gpu.example.com"
NAMESPACE = synthetic.pod_to_place("plain").namespace
MODELS = ("a100", "h100", "h200", "b200")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.devices", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--devices", type=int, default=8, help="per node")
    parser.add_argument("--repeat", type=int, default=10, help="the median of so many is shown")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="show the N most expensive functions")
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the CPU time of decisions on alike and on different nodes; notes have the first one of a cluster."""
    plain = synthetic.pod_to_place("plain")
    claims = (PodResourceClaim(name="gpus", resource_claim_name="gpus"),)
    pod = replace(plain, spec=replace(plain.spec, resource_claims=claims))
    for alike in (True, False):
        base = synthetic.cluster(args.nodes, 0)
        objects = list(device_objects(args.nodes, args.devices, alike=alike))
        # A fresh cluster for each: nothing about its devices is cached.
        schedulers = [Scheduler(base.with_added(objects)) for _ in range(args.repeat)]
        with profiled(args.profile):
            first = statistics.median(timed(each.decide, pod)[1] for each in schedulers)
        later = statistics.median(timed(schedulers[0].decide, pod)[1] for _ in schedulers)
        decision = schedulers[0].decide(pod)
        feasible = len(decision.scores.rows) if decision.scores is not None else 0
        what = f"a claim for 4 devices, {args.nodes:,} nodes of {args.devices}, {'alike' if alike else 'all different'}"
        yield Row(what, later, "ms", f"first {first:.0f} ms; fits on {feasible:,} nodes")


def device_objects(
    n_nodes: int, n_devices: int, *, alike: bool
) -> Iterator[ResourceSlice | ResourceClaim | DeviceClass]:
    """Yield a slice per node, a class, and a claim for four devices of the same NUMA node with at least 40 GiB each."""
    rng = random.Random(7)
    for i in range(n_nodes):
        yield msgspec.convert(_slice(i, n_devices, rng, alike=alike), ResourceSlice)
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    yield msgspec.convert({"metadata": {"name": "gpu"}, "spec": {"selectors": [selector]}}, DeviceClass)
    memory = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'
    exactly = {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": 4,
        "selectors": [{"cel": {"expression": memory}}],
    }
    devices = {
        "requests": [{"name": "gpus", "exactly": exactly}],
        "constraints": [{"matchAttribute": f"{DRIVER}/numa"}],
    }
    yield msgspec.convert(
        {"metadata": {"name": "gpus", "namespace": NAMESPACE}, "spec": {"devices": devices}}, ResourceClaim
    )


def _slice(node: int, n_devices: int, rng: random.Random, *, alike: bool) -> Object:
    devices = []
    for k in range(n_devices):
        numa = k % 2 if alike else rng.randrange(3)
        memory = "80Gi" if alike else rng.choice(("16Gi", "40Gi", "80Gi"))
        attributes = {
            "uuid": {"string": f"GPU-{node}-{k}"},
            "model": {"string": MODELS[0] if alike else rng.choice(MODELS)},
            "numa": {"int": numa},
        }
        devices.append({"name": f"gpu-{k}", "attributes": attributes, "capacity": {"memory": {"value": memory}}})
    pool = {"name": f"node-{node}", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": f"node-{node}", "pool": pool, "devices": devices}
    return {"metadata": {"name": f"node-{node}-gpus"}, "spec": spec}


if __name__ == "__main__":
    main()

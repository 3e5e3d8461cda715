"""The start of every case: a cluster with ample free capacity and a pod with small requests."""

from conformance.generate.chance import GI, MI
from conformance.generate.scene import HOST, REGION, ZONE, Scene


def start(s: Scene, n_nodes: int | None = None, n_pods: int | None = None) -> None:
    """Add the nodes, namespaces and running pods of a cluster with ample free capacity, and the pod to schedule."""
    n = s.n_nodes or n_nodes or s.weighted((1, s.between(1, 2)), (20, s.between(3, 14)))
    zones = [f"z{i + 1}" for i in range(s.between(1, 4))]
    style = s.weighted((3, "node-{}"), (1, "ip-10-0-0-{}.ec2.internal"), (1, "worker{}"))
    without_zone, without_host, other_host = s.odds(0.15), s.odds(0.08), s.odds(0.1)
    for i in range(1, n + 1):
        name, labels = style.format(i), {}
        if not (without_host and s.odds(0.25)):
            labels[HOST] = f"host-{i}" if other_host else name
        if not (without_zone and s.odds(0.25)):
            labels[ZONE] = s.pick(*zones)
            labels[REGION] = "r1" if labels[ZONE] in ("z1", "z2") else "r2"
        s.node(name, s.pick(2000, 4000, 4000, 8000, 16000), s.pick(4, 8, 8, 16, 32) * GI, labels)
    for name, labels in (
        ("default", {}),
        ("prod", {"env": "prod", "team": "a"}),
        ("team-a", {"team": "a", "env": "dev"}),
    ):
        s.namespace(name, labels if s.odds(0.9) else {})
    count = 2 * n if s.n_nodes else n_pods if n_pods is not None else s.between(0, min(50, 3 * n))
    for _ in range(count):
        namespace = s.weighted((4, "default"), (1, "prod"), (1, "team-a"))
        cpu, memory = s.pick(50, 100, 200, 250), s.pick(64, 128, 256) * MI
        s.add_pod("pod", namespace, s.labels(), node=s.any_node(), cpu=cpu, memory=memory)
    containers = [s.container(cpu=s.pick(100, 250), memory=s.pick(64, 128, 256) * MI)]
    s.pod = s.new_pod("incoming", s.weighted((5, "default"), (1, "prod")), s.labels(), containers=containers)


def squeeze(s: Scene) -> None:
    """Fill the nodes, so that preemption is tried."""
    for node in s.nodes:
        node["status"]["allocatable"]["cpu"] = "1"
        name = node["metadata"]["name"]
        s.add_pod("squeeze", "default", s.labels(), node=name, priority=s.pick(0, 0, 10, 200), cpu=950, memory=64 * MI)

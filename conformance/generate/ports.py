"""Host ports: port numbers, protocols and addresses that conflict or almost conflict."""

import copy

from conformance.generate.chance import MI
from conformance.generate.scene import Object, Scene

_ADDRESSES = ((5, ""), (2, "0.0.0.0"), (2, "127.0.0.1"), (2, "10.0.0.1"), (0.5, "::"), (0.5, "fd00::1"))


def _ports(s: Scene, used: set[tuple[str, str, int]], *, on_host: bool) -> list[Object]:
    found: list[Object] = []
    for _ in range(s.weighted((5, 1), (3, 2), (1, 3))):
        number, protocol = s.pick(80, 443, 8080), s.weighted((5, "TCP"), (3, "UDP"), (1, "SCTP"))
        address = s.weighted(*_ADDRESSES)
        if (address, protocol, number) in used:
            continue
        used.add((address, protocol, number))
        port: Object = {"containerPort": number if on_host else s.pick(80, 8080, number), "protocol": protocol}
        if on_host or s.odds(0.9):
            port["hostPort"] = number
            if address:
                port["hostIP"] = address
        if port not in found:
            found.append(port)
    return found


def _give(s: Scene, pod: Object) -> None:
    """Give a pod ports, seldom in an init container or a sidecar, whose ports count as well."""
    used: set[tuple[str, str, int]] = set()
    spec = pod["spec"]
    on_host = s.odds(0.25)
    if on_host:
        spec["hostNetwork"] = True
    if s.odds(0.33):
        spec["containers"].append({**copy.deepcopy(spec["containers"][0]), "name": "extra", "resources": {}})
    takers = list(spec["containers"])
    if s.odds(0.12):
        init = s.container("init-port")
        if s.odds(0.6):
            init["restartPolicy"] = "Always"
        spec.setdefault("initContainers", []).append(init)
        takers.append(init)
    for container in takers:
        if ports := _ports(s, used, on_host=on_host):
            container["ports"] = ports


def ports(s: Scene) -> None:
    """Add pods with host ports to the nodes, and give the pod to schedule host ports."""
    density = 0.3 if s.gentle else s.weighted((3, 0.3), (2, 1.0), (1, 2.5))
    for node in s.nodes:
        for _ in range(int(density) + s.odds(density % 1)):
            name = node["metadata"]["name"]
            pod = s.add_pod("porter", s.pick("default", "prod"), s.labels(), node=name, cpu=50, memory=32 * MI)
            _give(s, pod)
            if s.odds(0.08):
                s.finish(pod)
            elif s.odds(0.06):
                s.terminate(pod)
    _give(s, s.pod)

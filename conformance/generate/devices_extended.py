"""Extended resources that a DeviceClass backs, beside those of device plugins."""

from typing import Final

from conformance.generate.chance import MI
from conformance.generate.config import strategy
from conformance.generate.hardware import (
    GPUS,
    NICS,
    Result,
    claim_for,
    device_class,
    device_classes,
    exactly,
    extended_claim,
    gpu,
    grant,
    on_node,
    publish,
)  # fmt: skip
from conformance.generate.scene import FPGA, GPU, NIC, Object, Scene

_IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"


def _ask_for(container: Object, resource: str, amount: str) -> None:
    for kind in ("requests", "limits"):
        container["resources"].setdefault(kind, {})[resource] = amount


def extended(s: Scene) -> None:
    """Add extended resources that a DeviceClass backs."""
    device_classes(s, {"gpu": GPU, **({"nic": NIC} if s.odds(0.3) else {})})
    clash = s.odds(0.12)
    if clash:  # of two classes with the same extended resource name the newest wins
        expression = f'device.driver == "{GPUS}" && device.attributes["{GPUS}"].model == "h100"'
        device_class(s, "gpu-next", expression, extendedResourceName=GPU)
    have: dict[str, list[Object]] = {}
    for node in s.nodes:
        name = node["metadata"]["name"]
        kind = s.weighted((5, "devices"), (3, "plugin"), (1, "zero"), (1, "both"), (1, "none"))
        if kind in ("plugin", "both", "zero"):
            s.offer(node, GPU, "0" if kind == "zero" else str(s.between(1, 4)))
        if kind in ("devices", "both") or (kind == "zero" and s.odds(0.7)):
            have[name] = [gpu(s, f"gpu-{i}") for i in range(s.between(1, 4))]
        if s.odds(0.3):
            s.offer(node, FPGA, s.pick("0", "1", "2"))
    publish(s, have)
    if s.odds(0.4):
        nics = [{"name": f"nic-{i}"} for i in range(s.pick(1, 2))]
        publish(s, {name: nics for name in s.node_names() if s.odds(0.7)}, NICS)
    _users(s, have)
    names = ((6, GPU), (3, f"{_IMPLICIT}gpu"), (1, f"{_IMPLICIT}big-gpu"), (1, f"{_IMPLICIT}nic"), (1, NIC),
             (1.5, f"{_IMPLICIT}any"), (1.2, f"{_IMPLICIT}absent"))  # fmt: skip
    name = s.weighted(*names)
    if clash and name == f"{_IMPLICIT}gpu":
        name += "-next"  # it is random whether the older class keeps its implicit name
    _containers(s, name)
    if s.odds(0.2):
        claim_for(s, [exactly("r0", s.pick("gpu", "nic"))])
    if s.number // 24 % 6 == 1 or s.odds(0.03):  # a claim left over from an attempt that did not bind
        left = extended_claim(s, "incoming-extended-resources-x7k2p", s.pod)
        if have and s.odds(0.5):
            home = s.pick(*have)
            result = Result(GPUS, home, have[home][-1]["name"], "container-0-request-0")
            grant(left, [result], on_node(home))
    if s.odds(0.35):
        s.plugin_args("NodeResourcesFit", scoringStrategy=strategy(s, tuple(dict.fromkeys(("cpu", GPU, name)))))
    if name == f"{_IMPLICIT}any" and s.odds(0.6):
        # Only a class without selectors: with selectors, 1.36 crashes because its expressions are not compiled.
        entries = [{"name": one, "weight": 1} for one in ("cpu", name)]
        s.plugin_args("NodeResourcesBalancedAllocation", resources=entries)
    if s.odds(0.1):
        s.plugin_args("NodeResourcesFit", ignoredResources=[GPU])


def _users(s: Scene, have: dict[str, list[Object]]) -> None:
    """Add running pods that use the resource, from a device plugin or through a claim that the scheduler created."""
    for name in s.node_names():
        if not s.odds(0.4):
            continue
        pod = s.add_pod("user", "default", s.labels(), node=name, priority=s.pick(0, 0, -10))
        _ask_for(pod["spec"]["containers"][0], GPU, "1")
        if name in have and s.odds(0.8):
            found = extended_claim(s, s.name(f"{pod['metadata']['name']}-extended-resources"), pod)
            result = Result(GPUS, name, have[name][0]["name"], "container-0-request-0")
            grant(found, [result], on_node(name), [pod])
            mapping = {"containerName": "c", "resourceName": GPU, "requestName": "container-0-request-0"}
            status = {"resourceClaimName": found["metadata"]["name"], "requestMappings": [mapping]}
            pod["status"]["extendedResourceClaimStatus"] = status


def _containers(s: Scene, name: str) -> None:
    """Add containers and init containers that request the resource, seldom also another one."""
    spec = s.pod["spec"]
    spec["containers"] = [s.container(f"c{i}", s.pick(50, 100), 64 * MI) for i in range(s.pick(1, 1, 2))]
    _ask_for(spec["containers"][0], name, s.weighted((6, "1"), (2, "2"), (0.5, "4"), (0.5, "0")))
    for container in spec["containers"][1:]:
        if s.odds(0.6):
            _ask_for(container, name, s.pick("1", "2"))
    if s.odds(0.15):
        _ask_for(s.pick(*spec["containers"]), s.pick(FPGA, NIC, f"{_IMPLICIT}nic", FPGA), "1")
    if s.odds(0.3):
        spec["initContainers"] = []
        for i in range(s.between(1, 2)):
            container = s.container(f"init{i}", 50, 32 * MI)
            if s.odds(0.8):
                _ask_for(container, name, s.pick("1", "1", "2", "3"))
            if s.odds(0.3):
                container["restartPolicy"] = "Always"
            spec["initContainers"].append(container)

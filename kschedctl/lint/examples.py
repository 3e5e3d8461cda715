"""Snapshots of the examples, as text: nodes in one line each."""

from __future__ import annotations

_NODE = """apiVersion: v1
kind: Node
metadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}{labels}}}}}
spec: {{{spec}}}
status: {{allocatable: {{cpu: "{cpu}", memory: 4Gi, pods: "10"}}}}
"""


def node(name: str, *, cpu: int = 2, taint: str = "", **labels: str) -> str:
    """A node as YAML.

    Examples
    --------
    >>> print(node("a", zone="z", taint="gpu").splitlines()[2])
    metadata: {name: a, labels: {kubernetes.io/hostname: a, topology.kubernetes.io/zone: z}}
    """
    named = {{"zone": "topology.kubernetes.io/zone"}.get(key, key): value for key, value in labels.items()}
    text = "".join(f", {key}: {value}" for key, value in named.items())
    spec = f"taints: [{{key: {taint}, effect: NoSchedule}}]" if taint else ""
    return _NODE.format(name=name, labels=text, spec=spec, cpu=cpu)


def snapshot(*objects: str) -> str:
    """Objects as one text."""
    return "---\n".join(objects)


def running(name: str, on: str, *, cpu: str = "1", priority: int = 0, app: str = "other") -> str:
    """A running pod as YAML."""
    return f"""apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: default, labels: {{app: {app}}}}}
spec:
  nodeName: {on}
  priority: {priority}
  containers: [{{name: c, image: c, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
status: {{phase: Running}}
"""

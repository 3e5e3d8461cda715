"""Examples of rules, expanded from abbreviated manifests, and their snapshots."""

import re
from textwrap import indent
from typing import Final

_METADATA: Final = "metadata:\n  name: $name\n  $metadata\n"
_POD_SPEC: Final = "$fields\ncontainers:\n- name: $name\n  image: $image\n  $container\n$volumes\n"
_POD: Final = f"{_METADATA}spec:\n{indent(_POD_SPEC, '  ')}"
_WORKLOAD: Final = f"""{_METADATA}spec:
  $workload
  selector:
    matchLabels: {{app: $name}}
  template:
    metadata:
      labels: {{app: $name}}
    spec:
{indent(_POD_SPEC, "      ")}"""
_JOB: Final = re.sub(r"  selector:\n.*\n", "", _WORKLOAD).replace("$fields", "restartPolicy: Never\n      $fields")
_WITH_SPEC: Final = f"{_METADATA}spec:\n  $fields\n"
_WITHOUT_SPEC: Final = f"{_METADATA}$fields\n"
#: The manifest after version and kind, by kind. ``$fields`` takes the fields of an example without a slot of their own.
_SKELETONS: Final = {
    "Pod": _POD,
    "Deployment": _WORKLOAD,
    "StatefulSet": _WORKLOAD.replace("$workload\n", "$workload\n  serviceName: $name\n"),
    "DaemonSet": _WORKLOAD,
    "Job": _JOB,
    "PodDisruptionBudget": f"{_WITH_SPEC}  selector:\n    matchLabels: {{app: $name}}\n",
    "HorizontalPodAutoscaler": _WITH_SPEC.replace(
        "$fields", "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: $name}\n  $fields"
    ),
    "PersistentVolumeClaim": f"{_WITH_SPEC}  resources:\n    requests:\n      storage: 10Gi\n",
    "PersistentVolume": _WITH_SPEC.replace(
        "$fields", "capacity: {storage: 10Gi}\n  accessModes: [ReadWriteOnce]\n  $fields"
    ),
    "PriorityClass": _WITHOUT_SPEC,
    "StorageClass": _WITHOUT_SPEC,
    "KubeSchedulerConfiguration": "$fields\n",
}
_SLOTS: Final = {
    **dict.fromkeys(("namespace", "labels", "annotations", "uid"), "metadata"),
    **dict.fromkeys(("replicas", "strategy", "updateStrategy", "parallelism", "completions"), "workload"),
    **dict.fromkeys(("ports", "resources"), "container"),
    "volumes": "volumes",
}
_IMAGES: Final = {"web": "nginx", "db": "postgres", "cache": "redis"}
_HEADER: Final = re.compile(r"([\w./]+) ([A-Z]\w+) ?([\w-]*)(  # <-)?\n")
_FIELD: Final = re.compile(r"^\w.*\n(?:[ -].*\n)*", re.MULTILINE)
#: The mark at the end of a line of a failing example in which a finding is expected.
MARK: Final = "  # <-"
_MARKED_SPEC: Final = f"spec:{MARK}\n"


def manifests(text: str) -> str:
    r"""Return the complete manifests of an example: skeletons of the kinds with the fields of the example.

    An abbreviated manifest begins with version, kind and name. Each field that follows is inserted at the place where
    its kind has it, and replaces the skeleton's own. A manifest that begins otherwise is returned unchanged.

    >>> print(manifests("v1 Pod web\nnodeName: node-1  # <-\n"), end="")
    apiVersion: v1
    kind: Pod
    metadata:
      name: web
    spec:
      nodeName: node-1  # <-
      containers:
      - name: web
        image: nginx
    """
    return "---\n".join(map(_manifest, text.split("---\n")))


def _manifest(text: str) -> str:
    header = _HEADER.match(text)
    if header is None:
        return text
    version, kind, name, mark = header.groups("")
    made = _SKELETONS.get(kind, _WITH_SPEC).replace("$name", name).replace("$image", _IMAGES.get(name, name))
    in_slots = []
    for field in _FIELD.findall(text, header.end()):
        key = field.partition(":")[0]
        own = re.search(rf"^( *){key}:.*\n(?:\1[ -].*\n)*", made, re.MULTILINE)
        if field == _MARKED_SPEC:
            made = _MARKED_SPEC.join(made.rsplit("spec:\n", 1))
        elif own is not None:
            made = made[: own.start()] + indent(field, own[1]) + made[own.end() :]
        else:
            in_slots.append((key, field))
    for key, field in in_slots:
        slot = _SLOTS.get(key, "fields")
        at = re.search(rf"^( *)\${slot if f'${slot}' in made else 'fields'}\n", made, re.MULTILINE)
        assert at is not None
        made = made[: at.start()] + indent(field, at[1]) + made[at.start() :]
    return f"apiVersion: {version}{mark}\nkind: {kind}\n" + re.sub(r"^ *\$.*\n", "", made, flags=re.MULTILINE)


def node(name: str, *, cpu: int = 2, taint: str = "", **labels: str) -> str:
    """Return a node as YAML.

    >>> print(node("a", zone="z", taint="gpu").splitlines()[2])
    metadata: {name: a, labels: {kubernetes.io/hostname: a, topology.kubernetes.io/zone: z}}
    """
    named = {{"zone": "topology.kubernetes.io/zone"}.get(key, key): value for key, value in labels.items()}
    text = "".join(f", {key}: {value}" for key, value in named.items())
    spec = f"taints: [{{key: {taint}, effect: NoSchedule}}]" if taint else ""
    return f"""apiVersion: v1
kind: Node
metadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}{text}}}}}
spec: {{{spec}}}
status: {{allocatable: {{cpu: "{cpu}", memory: 4Gi, pods: "10"}}}}
"""


def snapshot(*objects: str) -> str:
    """Return objects, examples or whole manifests, as one text."""
    return manifests("---\n".join(objects))


def running(name: str, on: str, *, cpu: str = "1", priority: int = 0, app: str = "other") -> str:
    """Return a running pod as YAML."""
    return f"""apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: default, labels: {{app: {app}}}}}
spec:
  nodeName: {on}
  priority: {priority}
  containers: [{{name: c, image: c, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
status: {{phase: Running}}
"""

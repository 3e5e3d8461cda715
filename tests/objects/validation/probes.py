"""The objects of ``probes.yaml`` and a real API server's messages about them."""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

_FILE: Final = Path(__file__).parent / "probes.yaml"
_LABELS: Final = {"app": "web"}
_POD: Final = {"containers": [{"name": "app", "image": "app:1"}]}
_TEMPLATE: Final = {"metadata": {"labels": _LABELS}, "spec": _POD}
_ONCE: Final = {"metadata": {"labels": {}}, "spec": {**_POD, "restartPolicy": "Never"}}
_SELECTED: Final = {"selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}
_TARGET: Final = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def _base(api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web"}, **fields}


#: A base object of each kind, valid or almost valid.
BASES: Final[Mapping[str, dict[str, Any]]] = {
    "Pod": _base("v1", "Pod", spec=_POD),
    "PodTemplate": _base("v1", "PodTemplate", template=_TEMPLATE),
    "ReplicationController": _base("v1", "ReplicationController", spec={"selector": _LABELS, "template": _TEMPLATE}),
    "Deployment": _base("apps/v1", "Deployment", spec=_SELECTED),
    "ReplicaSet": _base("apps/v1", "ReplicaSet", spec=_SELECTED),
    "StatefulSet": _base("apps/v1", "StatefulSet", spec=_SELECTED),
    "DaemonSet": _base("apps/v1", "DaemonSet", spec=_SELECTED),
    "Job": _base("batch/v1", "Job", spec={"template": _ONCE}),
    "CronJob": _base(
        "batch/v1", "CronJob", spec={"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": _ONCE}}}
    ),
    "PodDisruptionBudget": _base("policy/v1", "PodDisruptionBudget", spec={}),
    "PriorityClass": _base("scheduling.k8s.io/v1", "PriorityClass"),
    "PersistentVolume": _base(
        "v1",
        "PersistentVolume",
        spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "nfs": {"server": "s", "path": "/x"}},
    ),
    "PersistentVolumeClaim": _base(
        "v1",
        "PersistentVolumeClaim",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    ),
    "HorizontalPodAutoscaler": _base(
        "autoscaling/v2", "HorizontalPodAutoscaler", spec={"maxReplicas": 3, "scaleTargetRef": _TARGET}
    ),
    "StorageClass": _base("storage.k8s.io/v1", "StorageClass", provisioner="example.com/disk"),
}


@dataclass(frozen=True)
class Probe:
    """An object with its messages: rejections of the object, rejections of its pods, and warnings."""

    what: str
    object: dict[str, Any]
    refused: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.what


def probes() -> list[Probe]:
    """Return all probes."""
    entries = yaml.load(_FILE.read_text(), yaml.CSafeLoader)
    said = ("refused", "pods", "warned")
    return [Probe(each["what"], probe_object(each), *(tuple(each.get(key, ())) for key in said)) for each in entries]


#: The release of the messages in ``newest.yaml``.
NEWEST: Final = "1.38"
#: The gates that are off by default and on for some objects there.
NEWEST_GATES: Final = ("SecurityProfileOCI", "PodCertificateMLDSA")


@dataclass(frozen=True)
class NewestProbe(Probe):
    """A probe of ``NEWEST``, with all of ``NEWEST_GATES`` on or none."""

    gates_on: bool = False


def newest_probes() -> list[NewestProbe]:
    """Return the probes whose messages are those of ``NEWEST``."""
    return [
        NewestProbe(
            each["what"],
            probe_object(each),
            tuple(each.get("refused", ())),
            warned=tuple(each.get("warned", ())),
            gates_on=each.get("gates") == "on",
        )
        for each in yaml.load(_FILE.with_name("newest.yaml").read_text(), yaml.CSafeLoader)
    ]


def probe_object(entry: Mapping[str, Any], bases: Mapping[str, dict[str, Any]] = BASES) -> dict[str, Any]:
    """Return the object that an entry describes."""
    # A copy through JSON, as the base objects share parts.
    obj: dict[str, Any] = json.loads(json.dumps(bases[entry["kind"]]))
    _merge(obj, entry.get("with", {}))
    for path in entry.get("without", ()):
        *steps, last = path.split(".")
        inside = obj
        for step in steps:
            inside = inside[step]
        del inside[last]
    return obj


def _merge(into: dict[str, Any], fields: Mapping[str, Any]) -> None:
    for key, value in fields.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)

"""Pod manifests changed by hand and by an edit, for tests of pod edits."""

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from io import BytesIO
from typing import Any

import msgspec
import pytest

import kschedctl
from kschedctl.objects.core import Namespace, Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.questions.batch.cases import answer
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.edit import Edit, PodEdit
from kschedctl.trials.whatif.edits import apply_pod_edits
from tests.builders import load_engine, make_cluster

CLASSES: tuple[dict[str, Any], ...] = (
    {"metadata": {"name": "high"}, "value": 1000},
    {"metadata": {"name": "meek"}, "value": 500, "preemptionPolicy": "Never"},
)


def loaded(objects: Iterable[ApiObject], *edits: Edit, **options: Any) -> LoadedCluster:
    """Return a cluster of objects and the PriorityClasses ``high`` (1000) and ``meek`` (500, never preempts)."""
    kinds = {Node: "Node", Pod: "Pod", Namespace: "Namespace"}
    given = [{"apiVersion": "v1", "kind": kinds[type(obj)], **msgspec.to_builtins(obj)} for obj in objects]
    given += [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **own} for own in CLASSES]
    text = "\n".join(map(json.dumps, given))
    return load_engine("-", stdin=BytesIO(text.encode()), edits=edits, **options)


def manifest(spec: dict[str, Any], name: str = "new", **metadata: Any) -> dict[str, Any]:
    """Return a pod manifest, with a default container unless the spec has one."""
    container = {"name": "app", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"name": name, **metadata}, "spec": {"containers": [container], **deepcopy(spec)}}


def edited_spec(spec: dict[str, Any], edit: PodEdit) -> dict[str, Any]:
    """Return a pod's spec after an edit in manifest form, without admission and defaults."""
    pod = msgspec.convert(manifest(spec), Pod)
    changed = apply_pod_edits(pod, [edit], make_cluster([], []))
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(changed.spec))
    return found


def outcome(cluster: LoadedCluster, pod: dict[str, Any] | str) -> bytes | str:
    """Return the full answer about a pod, or the problems for which an API server would reject it."""
    try:
        return msgspec.json.encode(answer("", cluster.decide(pod)))
    except kschedctl.InputError as error:
        return "\n".join(finding.problem for finding in error.findings)


def cases_of(table: Mapping[Any, Iterable[str]]) -> list[Any]:
    """Return a case for each key of a table by kind of edit, named after the option and the key."""
    return [
        pytest.param(kind, each, id=f"{kind.option.flag} {each}") for kind, every in table.items() for each in every
    ]

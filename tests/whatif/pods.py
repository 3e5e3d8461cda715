"""Pods of manifests edited by hand and by an edit, for the tests of edits of pods."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from io import BytesIO
from typing import Any

import msgspec

import kschedctl
from kschedctl.analyses.batch.answer import answer
from kschedctl.api.core import Namespace, Node
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.whatif.edit import Edit, PodEdit
from kschedctl.whatif.edit_sequence import apply_pod_edits
from tests.builders import make_cluster

CLASSES: tuple[dict[str, Any], ...] = (
    {"metadata": {"name": "high"}, "value": 1000},
    {"metadata": {"name": "meek"}, "value": 500, "preemptionPolicy": "Never"},
)


def loaded(objects: Iterable[ApiObject], *edits: Edit, **options: Any) -> kschedctl.SchedulingCluster:
    """A cluster of objects and the PriorityClasses ``high`` (1000) and ``meek`` (500, preempts nobody)."""
    kinds = {Node: "Node", Pod: "Pod", Namespace: "Namespace"}
    given = [{"apiVersion": "v1", "kind": kinds[type(obj)], **msgspec.to_builtins(obj)} for obj in objects]
    given += [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **own} for own in CLASSES]
    text = "\n".join(map(json.dumps, given))
    return kschedctl.load("-", stdin=BytesIO(text.encode()), edits=edits, **options)


def manifest(spec: dict[str, Any], name: str = "new", **metadata: Any) -> dict[str, Any]:
    """A pod with a container, where the spec has none."""
    container = {"name": "app", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"name": name, **metadata}, "spec": {"containers": [container], **deepcopy(spec)}}


def edited_spec(spec: dict[str, Any], edit: PodEdit) -> dict[str, Any]:
    """What an edit leaves of a pod's spec, as a manifest has it, without what admission and defaults add."""
    pod = msgspec.convert(manifest(spec), Pod)
    changed = apply_pod_edits(pod, [edit], make_cluster([], []))
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(changed.spec))
    return found


def outcome(cluster: kschedctl.SchedulingCluster, pod: dict[str, Any] | str) -> bytes | str:
    """All that is said of a pod, or why an API server would not take it."""
    try:
        return msgspec.json.encode(answer("", cluster.decide(pod)))
    except kschedctl.InputError as error:
        return "\n".join(finding.problem for finding in error.findings)

"""Cases that users can report: a pod with a difference, narrowed to what its answer depends on, under pseudonyms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.wording import listed
from kschedctl.objects.core import Condition
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.kinds import CAPTURED_KINDS, kind_type
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.questions.analyses.verify.anonymous_config import anonymous_config, case_config
from kschedctl.questions.analyses.verify.disagreement import Theirs
from kschedctl.questions.analyses.verify.narrowing import Narrowing
from kschedctl.questions.analyses.verify.pending import POD_SCHEDULED
from kschedctl.questions.analyses.verify.shrinking import Object
from kschedctl.questions.answers.verify import Verification
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.sources.snapshot.anonymize import with_pseudonyms
from kschedctl.sources.snapshot.capture import Capture, ClusterReader, capture
from kschedctl.sources.snapshot.header import SnapshotHeader
from kschedctl.sources.snapshot.pseudonyms import Pseudonyms
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.trials.simulate.simulated_cluster import pending_pods

_PLACES: Final = {type_: key for key, type_ in CAPTURED_KINDS.items()}
_ID: Final = "recorded"
_WHOLE_CLUSTER: Final = "kschedctl snapshot --anonymize writes the whole cluster"


def differing_pod(cluster: Cluster, found: Verification, wanted: str = "") -> int:
    """Return the index of the first pod that differs, pending pods first, or of the pod with the name ``wanted``.

    Raises
    ------
    InputError
        If no pod differs, or the named pod does not.
    """
    keys = {name.removeprefix("pod/") for name in found.names()}
    if not keys:
        raise InputError("nothing differs, so there is no case to record", path="--record")
    bound = (index for index, record in enumerate(cluster.pods.records) if record.node_name)
    differing = {key: i for i in (*pending_pods(cluster), *bound) if (key := cluster.pods.key(i)) in keys}
    if not wanted:
        return next(iter(differing.values()))
    namespace, _, name = wanted.rpartition("/")
    key = f"{namespace or DEFAULT_NAMESPACE}/{name}"
    if key not in differing:
        hint = f"pods that differ: {listed(list(differing))}"
        raise InputError(f"{key} does not differ", path="--pod", hint=hint)
    return differing[key]


def recorded_case(scheduler: Scheduler, index: int, feature_gates: Mapping[str, bool]) -> Object:
    """Return the case of a pod for which our answer differs: ``id``, ``objects``, ``pod``, ``config``, ``theirs``.

    Parameters
    ----------
    index : int
        The pod, an index into ``Cluster.pods``.
    feature_gates : mapping of str to bool
        The feature gates of the release that differ from their defaults.

    Raises
    ------
    InputError
        If the answers do not differ, the difference does not occur with pseudonyms, or the pod is pending with its
        group.
    """
    key = scheduler.cluster.pods.key(index)
    record = scheduler.cluster.pods.records[index]
    if record.spec.pod_group_name and not record.node_name and scheduler.release.pod_groups is not None:
        raise InputError(
            f"{key}: it is tried with its pod group, and a case is about a single pod", hint=_WHOLE_CLUSTER
        )
    whole = _whole_case(scheduler, index, feature_gates)
    narrowing = Narrowing(whole, scheduler.release, scheduler.registry)
    if narrowing.disagreement is None:
        raise InputError(f"{key}: our answer equals kube-scheduler's", hint="name a pod that differs (verify -o name)")
    case = _under_pseudonyms(narrowing.smallest())
    found = Narrowing(case, scheduler.release, scheduler.registry).disagreement
    if found is None or not found.resembles(narrowing.disagreement):
        raise InputError(
            f"{key}: the difference does not occur with pseudonyms",
            hint=_WHOLE_CLUSTER,
        )
    return case


def _whole_case(scheduler: Scheduler, index: int, feature_gates: Mapping[str, bool]) -> Object:
    cluster = scheduler.cluster
    own = cluster.pods.records[index].metadata
    captured = capture(ClusterReader(cluster, ReadSummary()))
    objects = [obj for found in captured.objects.values() for obj in found]
    is_own = [isinstance(obj, Pod) and (obj.namespace, obj.name) == (own.namespace, own.name) for obj in objects]
    pod = objects[is_own.index(True)]
    assert isinstance(pod, Pod)
    condition = next((c for c in pod.status.conditions if c.type == POD_SCHEDULED), Condition())
    node = pod.spec.node_name
    theirs = Theirs(
        release=scheduler.release.version,
        feature_gates=dict(feature_gates),
        reason="" if node else condition.reason,
        message="" if node else condition.message,
        node=node,
    )
    asked = replace(_without_message(pod), spec=replace(pod.spec, node_name=""))
    return {
        "id": _ID,
        "objects": [
            _data(_without_message(obj) if isinstance(obj, Pod) else obj)
            for obj, mine in zip(objects, is_own, strict=True)
            if not mine
        ],
        "pod": _data(asked),
        "config": case_config(scheduler.configuration),
        "theirs": msgspec.to_builtins(theirs),
    }


def _without_message(pod: Pod) -> Pod:
    """Return the pod without the scheduler's message, which no answer depends on."""
    conditions = tuple(c for c in pod.status.conditions if c.type != POD_SCHEDULED)
    return replace(pod, status=replace(pod.status, conditions=conditions))


def _data(obj: ApiObject) -> Object:
    group, kind = _PLACES[type(obj)]
    # The same form as read from a file: lists instead of tuples, and times as strings.
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, **data}


def _under_pseudonyms(case: Object) -> Object:
    """Return the case with pseudonyms.

    The pod is anonymized together with the other objects, with kube-scheduler's message as its condition.
    """
    theirs = msgspec.convert(case["theirs"], Theirs)
    said = Condition(type=POD_SCHEDULED, status="False", reason=theirs.reason, message=theirs.message)
    pod = msgspec.convert(case["pod"], Pod)
    conditions = (*pod.status.conditions, said)
    pod = replace(
        pod,
        spec=replace(pod.spec, node_name=theirs.node),
        status=replace(pod.status, conditions=conditions),
    )
    objects: dict[type[ApiObject], list[ApiObject]] = {Pod: [pod]}
    order = []
    for data in case["objects"]:
        type_ = kind_type(data["apiVersion"], data["kind"])
        assert type_ is not None
        found = objects.setdefault(type_, [])
        order.append((type_, len(found)))
        found.append(msgspec.convert(data, type_))
    names = Pseudonyms()
    if "config" in case:
        anonymous_config(case["config"], names)
    renamed = with_pseudonyms(Capture(SnapshotHeader(kschedctl_version=""), objects), names)[0].objects
    own = renamed[Pod][0]
    assert isinstance(own, Pod)
    message = next(c.message for c in own.status.conditions if c.type == POD_SCHEDULED)
    out: Object = {
        "id": _ID,
        "objects": [_data(renamed[type_][i]) for type_, i in order],
        "pod": _data(replace(_without_message(own), spec=replace(own.spec, node_name=""))),
    }
    if "config" in case:
        out["config"] = anonymous_config(case["config"], names)
    told = replace(theirs, message=message, node=own.spec.node_name)
    return {**out, "theirs": msgspec.to_builtins(told)}

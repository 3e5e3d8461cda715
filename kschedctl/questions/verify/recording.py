"""Cases that users can report: a pod with a difference, narrowed to what its answer depends on, under pseudonyms."""

import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.common.wording import listed
from kschedctl.objects.core import Condition
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.kinds import CAPTURED_KINDS, kind_type
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.objects.selectors import NodeAffinity
from kschedctl.questions.batch.cases import Case, decide
from kschedctl.questions.verify.answer import Verification
from kschedctl.questions.verify.pending_pods import POD_SCHEDULED, Disagreement, Theirs, disagreement, overcounted
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import SchedulerConfiguration
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.plugins.registry import IN_TREE_PLUGINS
from kschedctl.sources.snapshot.anonymize import renaming, with_pseudonyms
from kschedctl.sources.snapshot.capture import Capture, ClusterReader, capture
from kschedctl.sources.snapshot.header import SnapshotHeader
from kschedctl.sources.snapshot.pseudonyms import Pseudonyms
from kschedctl.sources.snapshot.summary import ReadSummary

# A KubeSchedulerConfiguration with pseudonyms: profiles stay, everything else (connections, extenders) is left out.

#: The scheduler's own words in the args of in-tree plugins; all other texts are names.
_OWN_WORDS: Final = frozenset(
    {
        "*",
        *IN_TREE_PLUGINS,
        "DoNotSchedule",
        "LeastAllocated",
        "List",
        "MostAllocated",
        "RequestedToCapacityRatio",
        "ScheduleAnyway",
        "System",
    }
)
#: The fields that list resources.
_RESOURCES: Final = frozenset({"resources", "ignoredResources", "ignoredResourceGroups"})


def case_config(configuration: SchedulerConfiguration) -> dict[str, Any]:
    """Return the part of a configuration that decisions depend on, as written."""
    settings = configuration.settings
    percentage = settings.percentage_of_nodes_to_score
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        **({"percentageOfNodesToScore": percentage} if percentage else {}),
        "profiles": msgspec.json.decode(msgspec.json.encode(settings.profiles)),
    }


def anonymous_config(config: dict[str, Any], names: Pseudonyms) -> dict[str, Any]:
    """Return the result of ``case_config`` with pseudonyms; before these are settled, a call only collects names."""
    return {**config, "profiles": [_renamed("", profile, names) for profile in config.get("profiles", ())]}


def _renamed(field: str, value: Any, names: Pseudonyms) -> Any:
    if isinstance(value, dict):
        return {name: _part(field, name, part, names) for name, part in value.items()}
    if isinstance(value, list):
        return [_renamed(field, item, names) for item in value]
    if isinstance(value, str):
        return _rule(field, names)(value)
    return value


def _part(inside: str, name: str, value: Any, names: Pseudonyms) -> Any:
    if name == "addedAffinity" and value is not None:
        renamed = renaming(names).rewrite(msgspec.convert(value, NodeAffinity))
        return msgspec.json.decode(msgspec.json.encode(renamed))
    # The name of a resource stands in an object of the list of resources.
    return _renamed(inside if inside in _RESOURCES and name == "name" else name, value, names)


def _rule(field: str, names: Pseudonyms) -> Callable[[str], str]:
    if field in _RESOURCES:
        return names.resource
    if field == "topologyKey":
        return names.key
    return lambda text: text if text in _OWN_WORDS or field in ("apiVersion", "kind") else names.word(text)


# Shrinking: a value with some property, reduced to the fewest objects, items and fields that still have it.
#
# This is delta debugging, from coarse to fine: whole objects and pods, then the items of every list, then the fields of
# every object, repeated until nothing more can be left out. Kinds and names always stay.

T = TypeVar("T")
Object = dict[str, Any]

#: Reports whether a smaller value still has the property.
Keeps = Callable[[T], bool]

#: The fields that identify an object, which always stay.
_IDENTITY: Final = frozenset({"apiVersion", "kind", "metadata", "name", "namespace", "uid"})


def smallest_case(case: Object, keeps: Keeps[Object]) -> Object:
    """Return the smallest case with the property: ``objects``, a ``pod`` or ``pods``, and perhaps a ``config``."""
    while True:
        less = _shrunk_case(case, keeps)
        if less == case:
            return case
        case = less


def _shrunk_case(case: Object, keeps: Keeps[Object]) -> Object:
    """Shrink once: the lists of the case, the configuration, then everything inside."""
    for name in ("objects", "pods"):
        if name in case:
            case = {**case, name: fewest(case[name], _with(case, name, keeps))}
    if "config" in case and keeps(without := {name: value for name, value in case.items() if name != "config"}):
        case = without
    for name in ("config", "pod", "pods", "objects"):
        if name in case:
            case = {**case, name: _shrunk(case[name], _with(case, name, keeps))}
    return case


def _with(whole: Object, name: str, keeps: Keeps[Object]) -> Keeps[Any]:
    """Return a test for the value of one field, which applies the test of the whole object to it."""
    return lambda value: keeps({**whole, name: value})


def _at(items: list[Any], i: int, keeps: Keeps[list[Any]]) -> Keeps[Any]:
    return lambda item: keeps([*items[:i], item, *items[i + 1 :]])


def _shrunk(value: Any, keeps: Keeps[Any]) -> Any:
    """Return a list or an object with the fewest items and fields, at all levels."""
    if isinstance(value, dict):

        def chosen(names: list[str]) -> Object:
            return {name: field for name, field in value.items() if name in _IDENTITY or name in names}

        names = fewest([name for name in value if name not in _IDENTITY], lambda names: keeps(chosen(names)))
        fields = chosen(names)
        for name in fields:
            fields = {**fields, name: _shrunk(fields[name], _with(fields, name, keeps))}
        return fields
    if isinstance(value, list):
        items = fewest(value, keeps)
        for i in range(len(items)):
            items = [*items[:i], _shrunk(items[i], _at(items, i, keeps)), *items[i + 1 :]]
        return items
    return value


def fewest(items: list[T], keeps: Keeps[list[T]]) -> list[T]:
    """Return the items that are needed, in their order: no single one of them can be left out.

    >>> fewest([1, 2, 3, 4, 5, 6], lambda chosen: {2, 5} <= set(chosen))
    [2, 5]
    """
    if items and keeps([]):
        return []
    size = max(1, len(items) // 2)
    while True:
        start, removed = 0, False
        while start < len(items):
            fewer = [*items[:start], *items[start + size :]]
            if len(items) > 1 and keeps(fewer):
                items, removed = fewer, True
            else:
                start += size
        if size > 1:
            size //= 2
        elif not removed:
            return items


# The narrowing of a case to the part that our answer depends on, while it differs from kube-scheduler's as before.
#
# The real scheduler's answer for a smaller cluster is not known, so our answer alone must not decide what is left out.
# If
# kube-scheduler gave a reason that we do not, the cause may be an object or field that we wrongly ignore; leaving it
# out
# would change nothing for us. Then only whole objects out of the reason's reach are left out, and no fields. If only we
# give a reason, we inspect everything that leads to it, and fields are left out as well.
#
# Narrowing ends after a fixed amount of work; objects that were not tried by then stay. In both cases every node that
# stays gets exactly the same reasons as before, with the same numbers and names.

#: The number of objects read again after which nothing more is left out; this takes about a minute.
_MOST_WORK: Final = 1_500_000
#: The number that each tried case counts besides its objects.
_PER_CASE: Final = 50
#: Words of reasons that depend on pods anywhere, on claims and volumes, and on preemption.
_ANYWHERE: Final = ("affinity rules", "topology spread", "ReadWriteOncePod")
_STORAGE: Final = ("volume", "disk", "claim", "storage", "PVC", "pvc")
_PREEMPTION: Final = ("preempt", "Preempt")
#: The reasons for each node: plugin, text, and the numbers and names behind them.
Facts = dict[str, tuple[tuple[str, str, str], ...]]


class Narrowing:
    """The narrowing of one case, which has ``theirs``.

    An object that is no valid case raises an InputError.

    disagreement: The difference between the answers; ``None`` if there is none.
    """

    def __init__(self, case: Object, release: Release, registry: Registry) -> None:
        self._release, self._registry = release, registry
        self._theirs = msgspec.convert(case["theirs"], Theirs)
        self.case = case
        decision = self._decide(case)
        self.disagreement: Disagreement | None = disagreement(self._theirs, decision)
        self._facts = _facts(decision)
        self._not_modelled = {str(notice) for notice in decision.not_modelled}
        self._overcounted = overcounted(self._theirs, decision)
        self._tried: dict[bytes, bool] = {}
        self._work = 0

    def smallest(self) -> Object:
        """Return the case without the objects and fields that the answer does not depend on."""
        found = self.disagreement
        assert found is not None
        case = self._with_fewest_nodes(self.case, found)
        kept = self._out_of_reach_only(case, found)
        others = [obj for obj in case["objects"] if not kept(obj)]

        def with_some(chosen: list[Object]) -> Object:
            identities = set(map(id, chosen))
            return {**case, "objects": [obj for obj in case["objects"] if kept(obj) or id(obj) in identities]}

        case = with_some(fewest(others, lambda chosen: self.keeps(with_some(chosen))))
        if found.only_theirs:
            without = {name: value for name, value in case.items() if name != "config"}
            return without if self.keeps(without) else case
        return smallest_case(case, self.keeps)

    def keeps(self, case: Object) -> bool:
        """Report whether a smaller case still shows the difference."""
        key = sha256(json.dumps(case).encode()).digest()
        if key not in self._tried:
            self._work += len(case["objects"]) + _PER_CASE
            self._tried[key] = self._work <= _MOST_WORK and self._shows(case)
        return self._tried[key]

    def _shows(self, case: Object) -> bool:
        try:
            decision = self._decide(case)
        except (KschedctlError, msgspec.ValidationError):
            return False
        return (
            disagreement(self._theirs, decision) == self.disagreement
            and {str(notice) for notice in decision.not_modelled} == self._not_modelled
            and all(self._facts.get(node) == said for node, said in _facts(decision).items())
        )

    def _decide(self, case: Object) -> Decision:
        return decide(msgspec.convert(case, Case), self._release, self._registry)

    def _with_fewest_nodes(self, case: Object, found: Disagreement) -> Object:
        """Return the case with the fewest nodes, each with all its pods."""
        # If only the numbers of nodes differ, every node matters.
        if found.ours or _mentions(found.only_theirs, _ANYWHERE):
            return case
        nodes = [obj["metadata"]["name"] for obj in case["objects"] if obj["kind"] == "Node"]
        suspects: set[str] = set()
        if found.only_theirs and not found.only_ours and found.outcome is Outcome.UNSCHEDULABLE:
            # Any one of these nodes may be the cause of the difference, so they stay.
            overcounted = self._overcounted
            suspects = {node for node, said in self._facts.items() if any(text in overcounted for _, text, _ in said)}
            suspects = suspects or {*self._facts}
        free = [node for node in nodes if node not in suspects]

        def only(chosen: Iterable[str]) -> Object:
            gone = {*nodes} - {*chosen} - suspects
            return {**case, "objects": [obj for obj in case["objects"] if _node_of_object(obj) not in gone]}

        return only(fewest(free, lambda chosen: self.keeps(only(chosen))))

    def _out_of_reach_only(self, case: Object, found: Disagreement) -> Callable[[Object], bool]:
        """Return the test for objects that always stay."""
        reasons = found.only_theirs
        if not reasons:
            return lambda obj: False
        anywhere, storage = _mentions(reasons, _ANYWHERE), _mentions(reasons, _STORAGE)
        kinds = {"Namespace"} if anywhere else set()
        if _mentions(reasons, _PREEMPTION):
            kinds.add("PodDisruptionBudget")
        nodes = {obj["metadata"]["name"] for obj in case["objects"] if obj["kind"] == "Node"}
        namespace = case["pod"].get("metadata", {}).get("namespace", "")
        names_others = "namespace" in json.dumps(case["pod"].get("spec", {}).get("affinity", {}))

        def kept(obj: Object) -> bool:
            if obj["kind"] == "Node":
                return True
            if obj["kind"] != "Pod":
                return storage or obj["kind"] in kinds
            if not anywhere:
                return _node_of_object(obj) in nodes
            near = obj["metadata"].get("namespace", "") == namespace or names_others
            return near or "affinity" in obj.get("spec", {}) or _node_of_object(obj) == ""

        return kept


def _mentions(reasons: Iterable[str], words: tuple[str, ...]) -> bool:
    return any(word in reason for reason in reasons for word in words)


def _node_of_object(obj: Object) -> str:
    """Return the node that an object belongs to; empty for none."""
    if obj["kind"] in ("Node", "CSINode"):
        return str(obj["metadata"]["name"])
    return str(obj.get("spec", {}).get("nodeName", "")) if obj["kind"] == "Pod" else ""


def _facts(decision: Decision) -> Facts:
    if decision.statuses is None:
        return {}
    facts: Facts = {}
    for row, name in enumerate(decision.cluster.nodes.names):
        said = decision.verdict(row).reasons
        facts[name] = tuple((plugin, reason.text, reason.detail) for plugin, reasons in said for reason in reasons)
    return facts


_PLACES: Final = {type_: key for key, type_ in CAPTURED_KINDS.items()}
_ID: Final = "recorded"
_WHOLE_CLUSTER: Final = "kschedctl snapshot --anonymize writes the whole cluster"


def differing_pod(cluster: Cluster, found: Verification, wanted: str = "") -> int:
    """Return the index of the first pod that differs, pending pods first, or of the pod with the name ``wanted``.

    Raises InputError if no pod differs, or the named pod does not.
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

    Args:
        index: The pod, an index into ``Cluster.pods``.
        feature_gates: The feature gates of the release that differ from their defaults.

    Raises InputError if the answers do not differ, the difference does not occur with pseudonyms, or the pod is
        pending with its group.
    """
    key = scheduler.cluster.pods.key(index)
    record = scheduler.cluster.pods.records[index]
    if record.spec.pod_group_name and not record.node_name and scheduler.release.pod_groups is not None:
        raise InputError(
            f"{key}: it is tried with its pod group, and a case is about a single pod", hint=_WHOLE_CLUSTER
        )
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
    whole = {
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
    narrowing = Narrowing(whole, scheduler.release, scheduler.registry)
    if narrowing.disagreement is None:
        raise InputError(f"{key}: our answer equals kube-scheduler's", hint="name a pod that differs (verify -o name)")
    case = _under_pseudonyms(narrowing.smallest())
    found = Narrowing(case, scheduler.release, scheduler.registry).disagreement
    if found is None or not found.resembles(narrowing.disagreement):
        raise InputError(f"{key}: the difference does not occur with pseudonyms", hint=_WHOLE_CLUSTER)
    return case


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
    pod = replace(pod, spec=replace(pod.spec, node_name=theirs.node), status=replace(pod.status, conditions=conditions))
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

"""Anonymised clusters decide as the original ones, and give nothing away."""

import json
import stat
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import msgspec
import pytest

from conformance.recordings import cases, themes
from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.common.errors import InputError
from kschedctl.common.findings import Location
from kschedctl.objects.core import Condition, Node, QuantityText, Taint
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.device import CELDeviceSelector, DeviceClass, DeviceTaint, DeviceToleration, ResourceSlice
from kschedctl.objects.kinds import KINDS, kind_type
from kschedctl.objects.meta import ApiObject, Int32, Int64, LabelSelectorRequirement
from kschedctl.objects.pod import Container, Pod, PodSpec, Toleration
from kschedctl.objects.pod_group import PodGroup, Workload
from kschedctl.objects.policies import PriorityClass
from kschedctl.objects.selectors import NodeSelectorRequirement
from kschedctl.objects.workload import Deployment
from kschedctl.questions.batch.cases import Case
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.devices.cel.environment import _DECLARATIONS
from kschedctl.scheduler.devices.cel.extensions import EXTENSIONS, NOT_MODELLED_FUNCTIONS
from kschedctl.scheduler.devices.cel.functions import STANDARD
from kschedctl.sources.snapshot.anonymize import CHOICES, anonymized, check_mapping, with_pseudonyms, write_mapping
from kschedctl.sources.snapshot.anonymize_devices import CEL_FUNCTIONS
from kschedctl.sources.snapshot.capture import Capture, capture, write_capture
from kschedctl.sources.snapshot.header import SnapshotHeader
from kschedctl.sources.snapshot.rewriting import Rewriter, structs_in
from kschedctl.sources.snapshot.summary import ReadSummary
from tests.builders import make_container, make_node, make_object, make_pod
from tests.scheduler.devices.builders import make_class, make_device, make_slice

T = TypeVar("T", bound=ApiObject)
#: Every so many of the recorded cases are looked at.
_STEPS = [pytest.param(36, marks=pytest.mark.sample), pytest.param(12, marks=pytest.mark.slow)]
#: Fields of the types that are replaced as a whole whose words are Kubernetes' own.
_OWN_WORDS = {
    (Taint, "effect"): "NoSchedule",
    (Toleration, "operator"): "Equal",
    (Toleration, "effect"): "NoSchedule",
    (LabelSelectorRequirement, "operator"): "In",
    (NodeSelectorRequirement, "operator"): "In",
    (DeviceTaint, "effect"): "NoSchedule",
    (DeviceToleration, "operator"): "Equal",
    (DeviceToleration, "effect"): "NoSchedule",
    (CELDeviceSelector, "expression"): 'device.attributes["s3cret.example"].s3cret == "s3cret" && "s3cret" != "1"',
    (Condition, "type"): "PodScheduled",
    (Condition, "status"): "False",
    (Condition, "reason"): "Unschedulable",
}


class Given:
    """Objects as a reader yields them."""

    def __init__(self, *objects: ApiObject) -> None:
        self.summary = ReadSummary(git_version="v1.36.3-vendor")
        self._objects = objects

    def __iter__(self) -> Iterator[tuple[ApiObject, Location]]:
        return ((obj, Location("given")) for obj in self._objects)


def captured(*objects: ApiObject) -> Capture:
    return capture(Given(*objects), context="s3cret-context")


def decide(found: Capture) -> Decision:
    """The decision for the last pod of a capture, over everything else of it."""
    *_, pod = found.objects[Pod]
    builder = ClusterBuilder()
    for objects in found.objects.values():
        for obj in objects:
            if obj is not pod:
                builder.add(obj)
    return Scheduler(builder.build()).decide(default_pod(pod))  # type: ignore[arg-type]


def without_names(found: Capture, decision: Decision) -> dict[str, Any]:
    """Everything about a decision, with numbers in the order of the capture in place of names."""
    cluster = decision.cluster
    nodes = {node.name: number for number, node in enumerate(found.objects[Node])}
    pods = {f"{pod.namespace or 'default'}/{pod.name}": number for number, pod in enumerate(found.objects[Pod])}
    verdicts = {nodes[name]: decision.verdict(row) for row, name in enumerate(cluster.nodes.names)}
    scores = decision.scores
    return {
        "error": bool(decision.error),
        "gate": decision.pre_enqueue.code,
        "pre filter": decision.pre_filter and decision.pre_filter.status.code,
        "verdicts": {
            number: (verdict.status.code, verdict.status.plugin, [plugin for plugin, _ in verdict.reasons])
            for number, verdict in verdicts.items()
            if not decision.error
        },
        "scores": scores
        and {nodes[cluster.nodes.names[row]]: int(total) for row, total in zip(scores.rows, scores.total, strict=True)},
        "best": sorted(nodes[name] for name in decision.best),
        "candidates": decision.preemption
        and sorted(
            (nodes[each.node], [pods[cluster.pods.key(v.pod)] for v in each.victims], each.n_violations, each.lost_at)
            for each in decision.preemption.candidates
        ),
        "message": len(decision.message.split(", ")),
    }


def objects_of(case: Case) -> list[ApiObject]:
    kinds = [
        (kind_type(data["apiVersion"], data["kind"]), data)
        for data in (*case.objects, {"apiVersion": "v1", "kind": "Pod", **case.pod})
    ]
    return [msgspec.convert(data, kind) for kind, data in kinds if kind is not None]


@pytest.mark.parametrize("step", _STEPS)
@pytest.mark.parametrize("theme", themes())
def test_decisions_are_the_same_up_to_the_renaming(theme: str, step: int) -> None:
    # A configuration names resources and labels too; it is not part of the snapshot.
    for case in [case for case in cases(theme)[::step] if case.config is None]:
        objects = objects_of(case)
        original = captured(*objects)
        uncaptured = replace(
            original, objects={type_: [o for o in objects if type(o) is type_] for type_ in KINDS.values()}
        )
        assert without_names(original, decide(original)) == without_names(uncaptured, decide(uncaptured)), case.id
        anonymous = anonymized(original)
        assert without_names(anonymous, decide(anonymous)) == without_names(original, decide(original)), case.id


EXPRESSIONS = [
    pytest.param('device.driver == "gpu.acme.com"', 'device.driver == "driver-1"', id="a driver"),
    pytest.param(
        'device.attributes["gpu.acme.com"].model == "secret"',
        'device.attributes["driver-1"].attribute_1 == "value-2"',
        id="an attribute and its value",
    ),
    pytest.param(
        'device.capacity["gpu.acme.com"].memory.compareTo(quantity("40Gi")) >= 0',
        'device.capacity["driver-1"].attribute_1.compareTo(quantity("40Gi")) >= 0',
        id="amounts stay",
    ),
    pytest.param(
        'device.attributes["gpu.acme.com"].model.startsWith("sec")',
        'device.attributes["driver-1"].attribute_1.startsWith("sec")',
        id="what is looked inside of stays",
    ),
    pytest.param(
        'device.attributes["resource.kubernetes.io"].pcieRoot == "pci0"',
        'device.attributes["resource.kubernetes.io"].pcieRoot == "value-1"',
        id="domains of Kubernetes stay",
    ),
    pytest.param(
        'device.attributes["gpu.acme.com"].lanes.exists(lane, lane > 7) // of Alice',
        'device.attributes["driver-1"].attribute_2.exists(attribute_1, attribute_1 > 7) ',
        id="variables are renamed, comments go",
    ),
    pytest.param(
        'device.driver.alice() && quantity("alice") || isSemver("v1.2.0") || 10u > 1.5e-3',
        'device.driver.attribute_1() && quantity("attribute_1") || isSemver("v1.2.0") || 10u > 1.5e-3',
        id="functions that nobody declares, and numbers that are none",
    ),
    pytest.param('alice "bob', 'attribute_1 "attribute_2', id="no CEL at all"),
    pytest.param("ünï § «alice»", "attribute_3 $ $attribute_1$", id="characters that CEL does not have"),
]


@pytest.mark.parametrize(("expression", "anonymous"), EXPRESSIONS)
def test_selectors_of_devices(expression: str, anonymous: str) -> None:
    device = make_device("gpu-0", model="secret", **{"resource.kubernetes.io/pcieRoot": "pci0"})
    found = anonymized(captured(make_slice("s", device, driver="gpu.acme.com"), make_class("gpu", expression)))
    (device_class,) = found.objects[DeviceClass]
    assert device_class.spec.selectors[0].cel.expression == anonymous  # type: ignore[attr-defined]


def test_attributes_with_a_list_of_values() -> None:
    lists: dict[str, Any] = {"names": {"strings": ["secret", "other"]}, "releases": {"versions": ["1.2.3", "secret"]}}
    found = anonymized(captured(make_slice("s", make_device("gpu-0", **lists))))
    (one,) = found.objects[ResourceSlice]
    names, releases = one.spec.devices[0].attributes.values()  # type: ignore[attr-defined]
    assert "secret" not in (*names.string_values, *releases.version_values)
    assert (len(set(names.string_values)), releases.version_values[0]) == (2, "1.2.3")
    assert releases.version_values[1] == names.string_values[0]


def test_the_functions_that_selectors_have_keep_their_names() -> None:
    names = {name.rpartition(".")[2] for name in [*_DECLARATIONS, *STANDARD, *EXTENSIONS, *NOT_MODELLED_FUNCTIONS]}
    assert {name for name in names if name.strip("_").isalpha() and name[0].isalpha()} - CEL_FUNCTIONS == set()


def filled(type_: Any, numbers: Iterator[int], at: tuple[type, str] | None = None) -> Any:
    """A value of a type in which every text is something that must not be given away."""
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        fields = {f.name: filled(f.type, numbers, _declared(type_, f.name)) for f in msgspec.structs.fields(type_)}
        return type_(**fields)
    if at in _OWN_WORDS:
        return _OWN_WORDS[at]
    secret = "" if at in CHOICES else f"s3cret-{next(numbers)}"
    if get_origin(type_) is dict and structs_in(type_):
        return {secret: filled(structs_in(type_)[0], numbers)}
    if structs_in(type_) and get_origin(type_) is not tuple:
        return filled(structs_in(type_)[0], numbers)
    if get_origin(type_) is tuple:
        return (filled(get_args(type_)[0], numbers, at),)
    if get_origin(type_) is dict:
        return {f"s3cret.example.com/{secret}": filled(get_args(type_)[1], numbers, at)}
    parts = (type_, *get_args(type_))
    if (of_dict := next((part for part in parts if get_origin(part) is dict), None)) is not None:
        return filled(of_dict, numbers, at)
    if type_ == QuantityText or {int, Int32, Int64} & set(parts):
        return 1
    if bool in parts:
        return True
    return secret if str in parts else datetime(2026, 1, 1, tzinfo=UTC)


def _declared(type_: type, name: str) -> tuple[type, str]:
    """The type that a field is declared in."""
    known = {*CHOICES, *_OWN_WORDS}
    return next(((base, name) for base in type_.__mro__ if (base, name) in known), (type_, name))


@pytest.mark.parametrize("kind", KINDS.values(), ids=[kind for _, kind in KINDS])
def test_no_text_of_any_type_is_left(kind: type[ApiObject], tmp_path: Path) -> None:
    obj = filled(kind, count())
    if isinstance(obj, Pod):
        obj = msgspec.structs.replace(obj, status=msgspec.structs.replace(obj.status, phase="Pending"))
    write_capture(anonymized(captured(obj)), tmp_path / "out")
    text = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert b"s3cret" not in text
    assert b'"vendor"' not in text
    assert b"v1.36.3" in text


def test_groups_and_their_members_agree() -> None:
    constraints = {"topology": [{"key": "rack.example.com/name"}]}
    template = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 2}}, "schedulingConstraints": constraints}
    message = "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled"
    condition = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    ref = {"workloadName": "llama", "templateName": "workers"}
    all_or_none = {**template, "workloadRef": ref, "disruptionMode": {"all": {}}, "priorityClassName": "high"}
    old_ref = {"workload": {"workloadName": "llama", "podGroupTemplateName": "workers"}}
    owner = {"apiGroup": "kubeflow.org", "kind": "TrainJob", "name": "llama"}
    found = anonymized(
        captured(
            make_node("worker-a", labels={"rack.example.com/name": "r1"}),
            make_pod("llama-0", schedulingGroup={"podGroupName": "llama-workers"}),
            make_object(
                PodGroup, "llama-workers", namespace="default", spec=all_or_none, status={"conditions": [condition]}
            ),
            make_object(
                PodGroup,
                "llama-old",
                namespace="default",
                spec={"podGroupTemplateRef": old_ref, "disruptionMode": "Pod"},
            ),
            make_object(
                Workload, "llama", namespace="default", spec={"controllerRef": owner, "podGroupTemplates": [template]}
            ),
            make_object(PriorityClass, "high", value=1),
        )
    )
    [node], [pod] = all_of(found, Node), all_of(found, Pod)
    [group, old], [workload], [priority_class] = (
        all_of(found, PodGroup),
        all_of(found, Workload),
        all_of(found, PriorityClass),
    )
    assert group.spec.topology_keys == ("key-1",)
    assert "key-1" in node.metadata.labels
    assert pod.spec.pod_group_name == group.name == "podgroup-2"
    assert group.spec.workload_name == old.spec.workload_name == workload.name
    assert group.spec.workload_ref is not None
    assert group.spec.workload_ref.template_name == workload.spec.pod_group_templates[0].name
    assert group.spec.priority_class_name == priority_class.name
    assert (group.spec.min_count, group.spec.disrupts_all, old.spec.disruption_mode) == (2, True, "Pod")
    assert group.status.conditions[0].message == message
    controller = workload.spec.controller_ref
    assert controller is not None
    assert (controller.api_group, controller.kind, controller.name) == ("example.com", "kind-1", workload.name)


def all_of(found: Capture, kind: type[T]) -> list[T]:
    return [obj for obj in found.objects[kind] if isinstance(obj, kind)]


def test_labels_selectors_and_affinity_agree() -> None:
    found = anonymized(
        captured(
            make_node("worker-a", labels={"team": "payroll", "size": "9"}),
            make_node("worker-b", labels={"team": "payroll", "size": "11"}),
            make_pod(
                "new",
                nodeSelector={"team": "payroll"},
                affinity={
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [{"key": "size", "operator": "Gt", "values": ["10"]}],
                                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["worker-b"]}],
                                }
                            ]
                        }
                    }
                },
            ),
        )
    )
    assert decide(found).best == ("node-2",)


def test_it_is_the_same_each_time() -> None:
    objects = [make_node("b"), make_node("a"), make_pod("p")]
    assert anonymized(captured(*objects)).objects == anonymized(captured(*objects)).objects
    names = [node.name for node in anonymized(captured(*objects)).objects[Node]]
    # In the order of the original names, whatever the order of the objects.
    assert names == ["node-2", "node-1"]


def test_header_says_so() -> None:
    header = anonymized(captured(make_node("a"))).header
    assert header.anonymized
    assert header.context == ""
    assert header.server_version.git_version == "v1.36.3"


def test_environment_images_and_arguments_are_gone(tmp_path: Path) -> None:
    container = {
        "name": "s3cret-c",
        "image": "s3cret.example.com/s3cret/app:s3cret",
        "env": [{"name": "A", "value": "s3cret"}],
    }
    workload = make_object(kind_type("apps/v1", "Deployment") or Pod, "s3cret", template={})
    write_capture(anonymized(captured(make_pod("s3cret", containers=[container]), workload)), tmp_path / "out")
    assert all(b"s3cret" not in path.read_bytes() for path in (tmp_path / "out").iterdir())


def test_strategies_keep_their_words_and_numbers() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}
    web = make_object(Deployment, "web", namespace="shop", spec={"strategy": strategy})
    odd = make_object(Deployment, "odd", namespace="shop", spec={"strategy": {"rollingUpdate": {"maxSurge": "acme"}}})
    kept, hidden = anonymized(captured(web, odd)).objects[Deployment]
    assert isinstance(kept, Deployment)
    assert isinstance(hidden, Deployment)
    assert kept.spec.strategy == web.spec.strategy
    assert "acme" not in str(hidden.spec.strategy)


def test_pseudonyms_lead_back() -> None:
    captured = Capture(
        SnapshotHeader(kschedctl_version="1"), {Pod: [make_pod("web-1", namespace="shop", labels={"team": "red"})]}
    )
    hidden, originals = with_pseudonyms(captured)
    [pod] = hidden.objects[Pod]
    assert originals[pod.name] == "web-1"
    assert originals[pod.namespace] == "shop"
    assert {originals[key]: originals[value] for key, value in pod.metadata.labels.items()} == {"team": "red"}


def test_the_file_is_for_the_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "names.json"
    file.write_text("old")
    file.chmod(0o644)
    write_mapping({"pod-1": "web"}, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == {"pod-1": "web"}
    assert [path.name for path in tmp_path.iterdir()] == ["names.json"]


@pytest.mark.parametrize(
    ("name", "force", "problem"),
    [
        ("out/names.json", True, "would be part of the snapshot"),
        ("out", True, "would be part of the snapshot"),
        ("nowhere/names.json", False, "there is no such folder"),
        ("folder", True, "is a folder"),
        ("there.json", False, "already exists"),
    ],
)
def test_files_that_are_not_written(tmp_path: Path, name: str, force: bool, problem: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "there.json").touch()
    with pytest.raises(InputError, match=problem):
        check_mapping(tmp_path / name, tmp_path / "out", force=force)


def test_a_file_gives_way_where_that_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "there.json").touch()
    check_mapping(tmp_path / "there.json", tmp_path / "out", force=True)


def upper_images() -> Rewriter:
    return Rewriter(lambda type_, name: str.upper if (type_, name) == (Container, "image") else None)


def test_field_is_replaced_deep_inside() -> None:
    pod = make_pod(containers=[make_container(image="a"), make_container(image="b")], initContainers=[{"image": "c"}])
    found = upper_images().rewrite(pod)
    assert [container.image for container in found.spec.containers] == ["A", "B"]
    assert found.spec.init_containers[0].image == "C"
    assert pod.spec.containers[0].image == "a"


def test_what_is_not_touched_is_the_same_object() -> None:
    node, pod = make_node(), make_pod(containers=[make_container(image="A")])
    rewriter = upper_images()
    assert rewriter.rewrite(node) is node
    assert rewriter.rewrite(pod) is pod


def test_whole_structs_are_replaced_first() -> None:
    rewriter = Rewriter(lambda type_, name: None, {Container: lambda container: Container(name="other")})
    assert rewriter.rewrite(make_pod()).spec.containers == (Container(name="other"),)


def test_structs_in_a_type() -> None:
    assert structs_in(tuple[Container, ...] | None) == (Container,)
    assert structs_in(dict[str, str]) == ()
    assert structs_in(Pod) == (Pod,)
    assert structs_in(PodSpec | None) == (PodSpec,)

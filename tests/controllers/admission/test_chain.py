"""All of admission together: the order, what is told, and that it can be done again."""

from typing import Any

import msgspec
import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import ObjectRef, Subject
from kschedctl.controllers.admission.chain import admit, admit_tolerations, merge_label_keys
from kschedctl.controllers.admission.changes import FieldChange, changes_between
from kschedctl.objects.pod import Pod, PodSpec, Toleration
from kschedctl.objects.policies import LimitRange, PriorityClass, ResourceQuota, RuntimeClass
from kschedctl.objects.quantity import QUANTITY_HINT
from kschedctl.objects.releases.release import LATEST
from tests.builders import make_cluster, make_container, make_object
from tests.objects.validation.groups import release_with

SPREAD = "MatchLabelKeysInPodTopologySpread"


def pod(**spec: Any) -> Pod:
    """A pod as somebody writes it."""
    labels = {"app": "web", "pod-template-hash": "7"}
    return make_object(Pod, "web", namespace="shop", labels=labels, spec={"containers": [make_container()], **spec})


def cluster(*objects: Any) -> Cluster:
    kept = {"cpu": "1", "pods": "1"}
    status = {"hard": kept, "used": {"cpu": 0, "pods": 0}}
    return make_cluster(
        [],
        [],
        make_object(PriorityClass, "high", value=1000, globalDefault=True),
        make_object(RuntimeClass, "kata", overhead={"podFixed": {"cpu": "250m"}}),
        make_object(
            LimitRange, "l", namespace="shop", spec={"limits": [{"type": "Container", "default": {"cpu": "900m"}}]}
        ),
        make_object(ResourceQuota, "q", namespace="shop", spec={"hard": kept}, status=status),
        *objects,
    )


CONSTRAINT = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
    "matchLabelKeys": ["pod-template-hash"],
}


def test_every_plugin_has_its_turn() -> None:
    given = pod(runtimeClassName="kata", topologySpreadConstraints=[CONSTRAINT])
    admitted = admit(given, cluster(), release=LATEST)
    for_a_while = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    in_hash = {"key": "pod-template-hash", "operator": "In", "values": ["7"]}
    assert [(c.plugin, c.path, c.before, c.after) for c in admitted.changes] == [
        ("defaults", "spec.schedulerName", None, "default-scheduler"),
        ("defaults", "spec.terminationGracePeriodSeconds", None, 30),
        ("LimitRanger", "spec.containers[0].resources.requests[cpu]", None, "900m"),
        ("LimitRanger", "spec.containers[0].resources.limits[cpu]", None, "900m"),
        ("Priority", "spec.priority", None, 1000),
        ("Priority", "spec.priorityClassName", None, "high"),
        ("Priority", "spec.preemptionPolicy", None, "PreemptLowerPriority"),
        (
            "DefaultTolerationSeconds",
            "spec.tolerations[0]",
            None,
            {"key": "node.kubernetes.io/not-ready", **for_a_while},
        ),
        (
            "DefaultTolerationSeconds",
            "spec.tolerations[1]",
            None,
            {"key": "node.kubernetes.io/unreachable", **for_a_while},
        ),
        ("RuntimeClass", "spec.overhead[cpu]", None, "250m"),
        ("matchLabelKeys", "spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0]", None, in_hash),
    ]
    assert admitted.warnings == ()
    # The quota counts what the plugins before it made of the pod.
    assert [str(refusal) for refusal in admitted.quota_refusals] == [
        "would be refused by quota q before the scheduler sees it: "
        "exceeded quota: q, requested: cpu=1150m, used: cpu=0, limited: cpu=1"
    ]


def test_an_admitted_pod_comes_out_as_it_went_in() -> None:
    first = admit(pod(runtimeClassName="kata", topologySpreadConstraints=[CONSTRAINT]), cluster(), release=LATEST)
    again = admit(first.pod, cluster(), release=LATEST)
    assert again.pod == first.pod
    assert again.changes == ()


def test_the_pod_that_is_given_is_not_changed() -> None:
    given = pod(runtimeClassName="kata")
    before = msgspec.json.encode(given)
    admit(given, cluster(), release=LATEST)
    assert msgspec.json.encode(given) == before


def test_label_keys_of_spread_constraints_stay_where_the_gate_is_off() -> None:
    release = LATEST.with_features({SPREAD: False})
    admitted = admit(pod(topologySpreadConstraints=[CONSTRAINT]), cluster(), release=release)
    assert not [change for change in admitted.changes if change.plugin == "matchLabelKeys"]


def test_warnings_of_all_plugins_are_told() -> None:
    spec = {"priorityClassName": "low", "priority": 0, "runtimeClassName": "kata", "overhead": {"cpu": "1"}}
    admitted = admit(pod(**spec), make_cluster(), release=LATEST)
    assert admitted.warnings == (
        "the snapshot has no PriorityClasses: low is assumed to have priority 0",
        "the snapshot has no RuntimeClasses: the fields that kata adds to the pod are unknown",
    )


def test_what_a_workload_makes_is_refused_in_its_template() -> None:
    where = Subject("web.yaml", ObjectRef("Deployment", "web", "shop", "apps/v1"))
    with pytest.raises(ManifestError) as error:
        admit(pod(priority=7), make_cluster(), release=LATEST, where=where)
    assert str(error.value) == (
        "web.yaml (Deployment shop/web): spec.template.spec.priority: the integer value of priority (7) must not be "
        "provided in pod spec; priority admission controller computed 0 from the given PriorityClass name\n"
        "  the value without a PriorityClass is 0; name another class or leave priority out; "
        "the Deployment itself is accepted: its pods are refused one by one (FailedCreate)"
    )


@pytest.mark.parametrize(
    ("limits", "resources", "hint"),
    [
        (
            [{"default": {"cpu": "1"}}, {"default": {"memory": "1Gi"}}],
            {"requests": {"cpu": "2"}},
            "LimitRange l0 of shop sets the cpu limit to 1",
        ),
        (
            [{"default": {"memory": "1Gi"}}, {"default": {"cpu": "1"}}, {"default": {"cpu": "3"}}],
            {"requests": {"cpu": "2"}},
            "LimitRange l1 of shop sets the cpu limit to 1",
        ),
        (
            [{"defaultRequest": {"cpu": "2"}}],
            {"limits": {"memory": "1Gi", "cpu": "0"}, "requests": {"cpu": "1"}},
            "if a container sets no request or limit, defaults and LimitRanges can set one",
        ),
        (
            [{"defaultRequest": {"cpu": "2"}, "default": {"cpu": "1"}}],
            {},
            "LimitRange l0 of shop sets the cpu request to 2; LimitRange l0 of shop sets the cpu limit to 1",
        ),
    ],
)
def test_limit_ranges_that_set_refused_amounts_are_named(
    limits: list[dict[str, Any]], resources: dict[str, Any], hint: str
) -> None:
    ranges = [
        make_object(LimitRange, f"l{i}", namespace="shop", spec={"limits": [{"type": "Container", **each}]})
        for i, each in enumerate(limits)
    ]
    given = pod(containers=[{"name": "c", "resources": resources}])
    with pytest.raises(ManifestError) as error:
        admit(given, make_cluster([], [], *ranges), release=LATEST)
    assert [each.hint for each in error.value.findings] == [hint]


def test_what_is_no_quantity_is_told_with_its_place() -> None:
    with pytest.raises(ManifestError) as error:
        admit(pod(overhead={"cpu": "lots"}, runtimeClassName="kata"), cluster(), release=LATEST, where="pod.yaml")
    assert str(error.value) == 'pod.yaml: spec.overhead.cpu: "lots" is not a quantity\n  ' + QUANTITY_HINT


def test_the_group_of_a_new_pod_is_dropped_if_its_gate_is_off() -> None:
    given = pod(schedulingGroup={"podGroupName": "gang"})
    dropped = admit(given, cluster(), release=release_with("1.37", every_gate=False))
    assert (dropped.pod.spec.pod_group_name, dropped.warnings) == ("gang", ())
    dropped = admit(given, cluster(), release=LATEST)
    assert dropped.pod.spec.scheduling_group is None
    assert dropped.warnings == (
        "spec.schedulingGroup is dropped (PodGroup gang): the feature gate GenericWorkload is off",
    )
    [change] = [change for change in dropped.changes if change.plugin == "featureGates"]
    assert (change.path, change.before, change.after) == ("spec.schedulingGroup.podGroupName", "gang", None)
    # An update of a pod keeps its group.
    assert admit(given, cluster(), release=LATEST, created=False).pod.spec.pod_group_name == "gang"


NOT_READY = Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoExecute", 300)
UNREACHABLE = Toleration("node.kubernetes.io/unreachable", "Exists", "", "NoExecute", 300)
OWN = Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoExecute", 5)
OTHER_EFFECT = Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoSchedule")
EVERYTHING = Toleration("", "Exists")


@pytest.mark.parametrize(
    ("given", "added"),
    [
        pytest.param((), (NOT_READY, UNREACHABLE), id="a pod without tolerations"),
        pytest.param((OWN,), (UNREACHABLE,), id="a pod that says how long it stays"),
        pytest.param((OTHER_EFFECT,), (NOT_READY, UNREACHABLE), id="a toleration of another effect does not count"),
        pytest.param((EVERYTHING,), (), id="a pod that tolerates everything"),
        pytest.param((UNREACHABLE, NOT_READY), (), id="a pod that was admitted before"),
    ],
)
def test_added(given: tuple[Toleration, ...], added: tuple[Toleration, ...]) -> None:
    admitted = admit_tolerations(Pod(spec=PodSpec(tolerations=given)))
    assert admitted.spec.tolerations == (*given, *added)


LABELS = {"app": "web", "hash": "7", "tenant": "a"}
SELECTOR = {"matchLabels": {"app": "web"}}


def requirement(key: str, operator: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": [value]}


def merged(*requirements: dict[str, Any]) -> dict[str, Any]:
    return {**SELECTOR, "matchExpressions": list(requirements)}


def as_json(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


IN_HASH = requirement("hash", "In", "7")
NOT_IN_TENANT = requirement("tenant", "NotIn", "a")
LABEL_KEYS_OWN = requirement("tier", "In", "front")


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param({"labelSelector": SELECTOR}, SELECTOR, id="no keys"),
        pytest.param({"labelSelector": SELECTOR, "matchLabelKeys": ["hash"]}, merged(IN_HASH), id="a key that matches"),
        pytest.param(
            {"labelSelector": SELECTOR, "mismatchLabelKeys": ["tenant"], "matchLabelKeys": ["hash"]},
            merged(IN_HASH, NOT_IN_TENANT),
            id="keys that match come before those that do not",
        ),
        pytest.param(
            {"labelSelector": SELECTOR, "matchLabelKeys": ["tenant", "hash"]},
            merged(requirement("tenant", "In", "a"), IN_HASH),
            id="in the order of the keys",
        ),
        pytest.param(
            {"labelSelector": merged(LABEL_KEYS_OWN), "matchLabelKeys": ["hash"]},
            merged(LABEL_KEYS_OWN, IN_HASH),
            id="after its own",
        ),
        pytest.param(
            {"labelSelector": SELECTOR, "matchLabelKeys": ["gone", "hash"]},
            merged(IN_HASH),
            id="a label that the pod does not have",
        ),
        pytest.param({"matchLabelKeys": ["hash"]}, None, id="no selector matches nothing"),
        pytest.param(
            {"labelSelector": merged(IN_HASH), "matchLabelKeys": ["hash"]},
            merged(IN_HASH),
            id="a pod that was admitted before",
        ),
    ],
)
@pytest.mark.parametrize("affinity", ["podAffinity", "podAntiAffinity"])
def test_pod_affinity(affinity: str, term: dict[str, Any], expected: dict[str, Any] | None) -> None:
    terms = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}],
    }
    pod = make_object(Pod, "pod", labels=LABELS, spec={"affinity": {affinity: terms}})
    out = as_json(merge_label_keys(pod))["spec"]["affinity"][affinity]
    required = out["requiredDuringSchedulingIgnoredDuringExecution"][0]
    preferred = out["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"]
    assert required.get("labelSelector") == expected
    assert preferred.get("labelSelector") == expected


@pytest.mark.parametrize(
    ("spread", "expected"),
    [pytest.param(True, merged(IN_HASH), id="gate on"), pytest.param(False, SELECTOR, id="gate off")],
)
def test_topology_spread(spread: bool, expected: dict[str, Any]) -> None:
    constraint = {"labelSelector": SELECTOR, "matchLabelKeys": ["hash"]}
    pod = make_object(Pod, "pod", labels=LABELS, spec={"topologySpreadConstraints": [constraint]})
    out = merge_label_keys(pod, spread=spread).spec.topology_spread_constraints[0]
    assert as_json(out.label_selector) == expected


CONTAINER = {"name": "c", "image": "i"}
LIMITED = {**CONTAINER, "resources": {"requests": {"cpu": "1", "example.com/gpu": 2}}}
TOLERATION = {"key": "a", "operator": "Exists"}


def changed_pod(**spec: Any) -> Pod:
    return make_object(Pod, "pod", labels={"app": "web"}, spec=spec)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({}, {}, [], id="nothing"),
        pytest.param({}, {"priority": 7}, [("spec.priority", None, 7)], id="a field that was not set"),
        pytest.param({"priority": 1}, {"priority": 7}, [("spec.priority", 1, 7)], id="a field that was"),
        pytest.param({"nodeName": "a"}, {}, [("spec.nodeName", "a", None)], id="a field that is not any more"),
        pytest.param(
            {"containers": [CONTAINER]},
            {"containers": [LIMITED]},
            [
                ("spec.containers[0].resources.requests[cpu]", None, "1"),
                ("spec.containers[0].resources.requests[example.com/gpu]", None, 2),
            ],
            id="keys of the user in brackets",
        ),
        pytest.param(
            {}, {"tolerations": [TOLERATION]}, [("spec.tolerations[0]", None, TOLERATION)], id="a new item as a whole"
        ),
        pytest.param(
            {"tolerations": [TOLERATION]}, {}, [("spec.tolerations[0]", TOLERATION, None)], id="an item that is gone"
        ),
        pytest.param(
            {"nodeSelector": {"a": "1"}},
            {"nodeSelector": {"a": "1", "b": "2"}},
            [("spec.nodeSelector[b]", None, "2")],
            id="only what is new in a map",
        ),
    ],
)
def test_changes(before: dict[str, Any], after: dict[str, Any], expected: list[tuple[str, Any, Any]]) -> None:
    assert changes_between("P", changed_pod(**before), changed_pod(**after)) == tuple(
        FieldChange("P", *change) for change in expected
    )

"""The RuntimeClass admission plugin by table."""

from typing import Any

import msgspec
import pytest

from kschedctl.common.errors import ManifestError
from kschedctl.controllers.admission.runtime_class import admit_runtime_class, merge_tolerations
from kschedctl.objects.pod import Pod, Toleration
from kschedctl.objects.policies import RuntimeClass
from tests.builders import make_cluster, make_object

OVERHEAD = {"podFixed": {"cpu": "250m", "memory": "1Gi"}}
TOLERATION = {"key": "runtime", "operator": "Exists"}
KATA = make_object(
    RuntimeClass,
    "kata",
    handler="kata",
    overhead=OVERHEAD,
    scheduling={"nodeSelector": {"runtime": "kata"}, "tolerations": [TOLERATION]},
)
PLAIN = make_object(RuntimeClass, "plain", handler="runc")


def pod(**spec: Any) -> Pod:
    return make_object(Pod, "pod", namespace="default", spec=spec)


@pytest.mark.parametrize(
    ("spec", "overhead", "node_selector", "tolerations"),
    [
        pytest.param({}, {}, {}, [], id="no RuntimeClass"),
        pytest.param({"runtimeClassName": "plain"}, {}, {}, [], id="a RuntimeClass that only names a handler"),
        pytest.param(
            {"runtimeClassName": "kata"}, OVERHEAD["podFixed"], {"runtime": "kata"}, [TOLERATION], id="all three"
        ),
        pytest.param(
            {"runtimeClassName": "kata", "nodeSelector": {"disk": "ssd", "runtime": "kata"}},
            OVERHEAD["podFixed"],
            {"disk": "ssd", "runtime": "kata"},
            [TOLERATION],
            id="node selectors are joined",
        ),
        pytest.param(
            {"runtimeClassName": "kata", "overhead": {"memory": "1024Mi", "cpu": "0.25"}},
            {"memory": "1024Mi", "cpu": "0.25"},
            {"runtime": "kata"},
            [TOLERATION],
            id="the same overhead in other words stays",
        ),
        pytest.param(
            {"runtimeClassName": "kata", "tolerations": [{"operator": "Exists"}]},
            OVERHEAD["podFixed"],
            {"runtime": "kata"},
            [{"operator": "Exists"}],
            id="a toleration of everything covers that of the class",
        ),
    ],
)
def test_admitted(
    spec: dict[str, Any], overhead: dict[str, str], node_selector: dict[str, str], tolerations: list[dict[str, str]]
) -> None:
    admitted, warnings = admit_runtime_class(pod(**spec), make_cluster([], [], KATA, PLAIN))
    assert admitted.spec.overhead == overhead
    assert admitted.spec.node_selector == node_selector
    assert admitted.spec.tolerations == msgspec.convert(tolerations, tuple[Toleration, ...])
    assert warnings == ()


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param(
            {"runtimeClassName": "gone"},
            'pod.yaml: spec.runtimeClassName: pod rejected: RuntimeClass "gone" not found\n'
            "  the snapshot has kata, plain",
            id="unknown class",
        ),
        pytest.param(
            {"runtimeClassName": "kata", "overhead": {"cpu": "1"}},
            "pod.yaml: spec.overhead: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead\n"
            "  leave it out; an API server sets it from the RuntimeClass",
            id="an overhead that contradicts the class",
        ),
        pytest.param(
            {"runtimeClassName": "plain", "overhead": {"cpu": "1"}},
            "pod.yaml: spec.overhead: "
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead\n"
            "  leave it out; an API server sets it from the RuntimeClass",
            id="an overhead where the class has none",
        ),
        pytest.param(
            {"overhead": {"cpu": "1"}},
            "pod.yaml: spec.overhead: "
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead\n"
            "  leave it out; an API server sets it from the RuntimeClass",
            id="an overhead without a class",
        ),
        pytest.param(
            {"runtimeClassName": "kata", "nodeSelector": {"runtime": "runc"}},
            "pod.yaml: spec.nodeSelector[runtime]: conflict: runtimeClass.scheduling.nodeSelector[runtime] = kata; "
            "pod.spec.nodeSelector[runtime] = runc\n  leave it out, or name another RuntimeClass",
            id="node selectors that contradict each other",
        ),
    ],
)
def test_refused(spec: dict[str, Any], text: str) -> None:
    with pytest.raises(ManifestError) as refused:
        admit_runtime_class(pod(**spec), make_cluster([], [], KATA, PLAIN), where="pod.yaml")
    assert str(refused.value) == text


def test_without_any_class_in_the_snapshot_the_pod_is_taken_at_its_word() -> None:
    given = pod(runtimeClassName="kata", overhead={"cpu": "1"})
    assert admit_runtime_class(given, make_cluster()) == (
        given,
        ("the snapshot has no RuntimeClasses: the fields that kata adds to the pod are unknown",),
    )


def tolerations(*texts: str) -> tuple[Toleration, ...]:
    """Written ``key[=value][:effect][/seconds]``; with a dash after the key it tolerates any value."""
    out = []
    for text in texts:
        text, _, seconds = text.partition("/")
        label, _, effect = text.partition(":")
        key, equals, value = label.partition("=")
        operator = "Equal" if equals else "Exists"
        out.append(Toleration(key, operator, value, effect, int(seconds) if seconds else None))
    return tuple(out)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["a=1", "a=1"], ["a=1"], id="of equal ones the first stays"),
        pytest.param(["a=1", "a"], ["a"], id="any value covers one"),
        pytest.param(["a", "a=1"], ["a"], id="whichever comes first"),
        pytest.param(["a=1:NoSchedule", "a=1"], ["a=1"], id="any effect covers one"),
        pytest.param(["a=1", "a=2"], ["a=1", "a=2"], id="different values"),
        pytest.param(["a:NoExecute/10", "a:NoExecute/20"], ["a:NoExecute/20"], id="longer covers shorter"),
        pytest.param(["a:NoExecute", "a:NoExecute/20"], ["a:NoExecute"], id="for ever covers for a while"),
        pytest.param(["a", "b", ""], [""], id="any key covers all"),
    ],
)
def test_merge_tolerations(given: list[str], expected: list[str]) -> None:
    assert merge_tolerations(tolerations(*given)) == tolerations(*expected)


def test_an_operator_that_is_left_out_covers_only_what_is_written_out() -> None:
    short, full = Toleration("a", "", "1", "NoSchedule"), Toleration("a", "Equal", "1", "NoSchedule")
    assert merge_tolerations((full, short)) == merge_tolerations((short, full)) == (short,)

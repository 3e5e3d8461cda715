import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import InputError
from kschedctl.objects.core import Node
from kschedctl.objects.kinds import CAPTURED_KINDS, FILE_KINDS
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.workload import Deployment, PodDisruptionBudget, StatefulSet
from kschedctl.sources.live.credentials import _ExecCredential
from kschedctl.sources.live.kubeconfig import _Kubeconfig
from kschedctl.sources.snapshot.decoding import JsonValue, decode, plain
from kschedctl.sources.snapshot.header import SnapshotHeader
from tests.fuzz.fields import VALUES, fields_of, with_value

T = TypeVar("T", bound=msgspec.Struct)


def pod(**spec: Any) -> bytes:
    return json.dumps({"metadata": {"name": "p"}, "spec": spec}).encode()


def test_what_fits_is_decoded_and_unknown_fields_are_skipped() -> None:
    read = decode(b'{"metadata":{"name":"p","managedFields":[{}]},"spec":{"priority":5}}', Pod)
    assert read.name == "p"
    assert read.spec.priority == 5


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        pytest.param('{"metadata":null,"spec":null}', "{}", id="structs"),
        pytest.param('{"metadata":{"name":null,"labels":null}}', '{"metadata":{}}', id="text-and-map"),
        pytest.param('{"spec":{"containers":null,"hostNetwork":null}}', "{}", id="list-and-boolean"),
        pytest.param(
            '{"metadata":{"labels":{"a":null}}}', '{"metadata":{"labels":{"a":""}}}', id="label-becomes-empty"
        ),
        pytest.param(
            '{"spec":{"containers":[null,{"name":"c","resources":{"requests":{"cpu":null}}}]}}',
            '{"spec":{"containers":[{},{"name":"c","resources":{"requests":{"cpu":0}}}]}}',
            id="item-becomes-empty-and-quantity-zero",
        ),
        pytest.param(
            '{"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":'
            '[{"labelSelector":{"matchExpressions":[{"operator":"Exists"},null]}}]}}}}',
            '{"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":'
            '[{"labelSelector":{"matchExpressions":[{"key":"","operator":"Exists"},{"key":""}]}}]}}}}',
            id="a-field-without-default-becomes-empty",
        ),
    ],
)
def test_null_is_what_go_makes_of_it(text: str, same_as: str) -> None:
    # The label only forces the exact road.
    assert decode(text.encode(), Pod) == decode(same_as.encode(), Pod)


def test_a_null_time_in_a_map_is_gos_zero_time() -> None:
    read = decode(b'{"status":{"disruptedPods":{"p":null}}}', PodDisruptionBudget)
    assert read.status.disrupted_pods == {"p": datetime(1, 1, 1, tzinfo=UTC)}


def test_other_fields_keep_their_values_on_the_exact_road() -> None:
    read = decode(
        b'{"metadata":{"name":"n","labels":null,"creationTimestamp":"2026-01-01T00:00:00Z"},'
        b'"status":{"allocatable":{"cpu":"4","pods":110,"x/y":1.5}}}',
        Node,
    )
    assert read.metadata == ObjectMeta(name="n", creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    assert read.status.allocatable == {"cpu": "4", "pods": 110, "x/y": 1.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            pod(containers=[{"resources": {"requests": {"cpu": [1]}}}]),
            "spec.containers[0].resources.requests.cpu: [1] is a list, a quantity such as 2, 500m or 1.5Gi is expected",
            id="quantity",
        ),
        pytest.param(
            pod(containers=[{}, {"resources": {"limits": {"nvidia.com/gpu": True}}}]),
            "spec.containers[1].resources.limits[nvidia.com/gpu]: true is a boolean, "
            "a quantity such as 2, 500m or 1.5Gi is expected",
            id="map-key-with-dots",
        ),
        pytest.param(
            b'{"metadata":{"name":"p","labels":{"version":1}}}',
            'metadata.labels.version: 1 is a number, text is expected\n  quote it: "1"',
            id="number-as-label",
        ),
        pytest.param(
            b'{"metadata":{"labels":{"a.b/c":true}}}',
            "metadata.labels[a.b/c]: true is a boolean, text is expected\n"
            "  quote it if it is text: in YAML, true, yes, on, y and their opposites are booleans unless quoted",
            id="boolean-as-label",
        ),
        pytest.param(pod(priority="5"), 'spec.priority: "5" is text, an integer of 32 bits is expected', id="integer"),
        pytest.param(
            pod(priority=1.5), "spec.priority: 1.5 is a number, an integer of 32 bits is expected", id="fraction"
        ),
        pytest.param(
            pod(hostNetwork="yes"), 'spec.hostNetwork: "yes" is text, true or false is expected', id="boolean"
        ),
        pytest.param(pod(containers={"a": 1}), 'spec.containers: {"a": 1} is an object, a list is expected', id="list"),
        pytest.param(pod(affinity=[]), "spec.affinity: [] is a list, an object is expected", id="struct"),
        pytest.param(pod(nodeSelector="a=b"), 'spec.nodeSelector: "a=b" is text, an object is expected', id="map"),
        pytest.param(
            b'{"metadata":{"creationTimestamp":"yesterday"}}',
            'metadata.creationTimestamp: "yesterday" is text, a time such as 2026-01-31T12:00:00Z is expected',
            id="time",
        ),
        pytest.param(
            pod(nodeName={"x" * 100: 1}),
            f'spec.nodeName: {{"{"x" * 55}... is an object, text is expected',
            id="long-values-are-shortened",
        ),
        pytest.param(
            pod(priority="5", containers=[{"name": 1}]),
            "spec.containers[0].name: 1 is a number, text is expected\n"
            '  quote it: "1"\n'
            'spec.priority: "5" is text, an integer of 32 bits is expected',
            id="all-problems-of-an-object",
        ),
        pytest.param(b"[1]", "[1] is a list, an object is expected", id="no-object"),
        pytest.param(
            b'{"metadata":{"name":"\xff"}}', "holds text that is not UTF-8\n  save it as UTF-8", id="not-utf-8"
        ),
        pytest.param(
            rb'{"metadata":{"name":"\x"}}', "is not valid JSON: invalid escape character in string", id="escape"
        ),
        pytest.param(b'{"spec":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}", "is nested too deeply", id="deep"),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(text: bytes, message: str) -> None:
    with pytest.raises(InputError) as raised:
        decode(text, Pod)
    assert str(raised.value) == message


def values_of() -> st.SearchStrategy[Any]:
    """Values that fit some fields of a pod and not others."""
    keys = st.sampled_from(
        [
            "name",
            "labels",
            "creationTimestamp",
            "containers",
            "resources",
            "requests",
            "cpu",
            "affinity",
            "a.b/c",
            "podAffinity",
            "labelSelector",
            "requiredDuringSchedulingIgnoredDuringExecution",
            "matchExpressions",
            "key",
            "matchLabels",
            "priority",
            "hostNetwork",
            "tolerations",
            "tolerationSeconds",
            "nodeSelector",
            "values",
        ]
    )
    leaves = st.sampled_from(["", "x", "2026-01-01T00:00:00Z", "2026-01-01", 0, 5, 1.5, 2.0, True, [], {}])
    return st.recursive(leaves, lambda v: st.lists(v, max_size=3) | st.dictionaries(keys, v, max_size=4), max_leaves=12)


@given(values_of(), values_of())
def test_all_roads_lead_to_the_same_object(metadata: Any, spec: Any) -> None:
    """A null in ``status``, which means the same as no status, leads over the exact road."""
    data = {"metadata": metadata, "spec": spec}
    expected = outcome(json.dumps(data).encode())
    assert outcome(json.dumps({**data, "status": None}).encode()) == expected
    assert outcome(data) == expected


def outcome(value: JsonValue) -> Pod | str:
    return outcome_of(value, Pod)


def outcome_of(value: JsonValue, type_: type[T]) -> T | str:
    try:
        return decode(value, type_)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize(
    "number", ["5", "5.0", "1e2", "-0", "0.0", "2147483648", "1e30", str(2**63), str(2**64), "1e999"]
)
@pytest.mark.parametrize(
    "text",
    [
        '{"spec":{"priority":%s}}',
        '{"spec":{"tolerations":[{"tolerationSeconds":%s}]}}',
        '{"spec":{"overhead":{"cpu":%s}}}',
        '{"metadata":{"labels":{"a":%s}}}',
        '{"metadata":{"creationTimestamp":%s}}',
    ],
)
def test_numbers_of_text_and_of_data_are_read_alike(text: str, number: str) -> None:
    written = (text % number).encode()
    try:
        data = plain(written)
    except InputError as error:
        assert outcome(written) == str(error)  # noqa: PT017
    else:
        assert outcome(data) == outcome(written)


@pytest.mark.parametrize(
    ("type_", "path"),
    [
        (Deployment, "spec.strategy.rollingUpdate.maxSurge"),
        (Deployment, "spec.strategy.rollingUpdate.maxUnavailable"),
        (StatefulSet, "spec.updateStrategy.rollingUpdate.maxUnavailable"),
        (PodDisruptionBudget, "spec.minAvailable"),
        (PodDisruptionBudget, "spec.maxUnavailable"),
    ],
)
@pytest.mark.parametrize(
    ("value", "told"),
    [
        (1.5, "1.5 is a number"),
        (2**32, "4294967296 is a number"),
        (True, "true is a boolean"),
        ([], "[] is a list"),
        ({}, "{} is an object"),
    ],
)
def test_a_number_or_percentage_of_another_type(type_: type[ApiObject], path: str, value: Any, told: str) -> None:
    with pytest.raises(InputError) as raised:
        decode(with_value({}, tuple(path.split(".")), value), type_)
    assert str(raised.value) == f"{path}: {told}, an integer of 32 bits or a percentage such as 25% is expected"


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        (5, "spec.disruptionMode: 5 is a number, text or an object is expected"),
        ({"single": 5}, "spec.disruptionMode.single: 5 is a number, an object is expected"),
    ],
)
def test_a_field_that_differs_between_versions(mode: Any, told: str) -> None:
    with pytest.raises(InputError) as raised:
        decode({"spec": {"disruptionMode": mode}}, PodGroup)
    assert str(raised.value) == told
    assert decode({"metadata": None, "spec": {"disruptionMode": {"all": {}}}}, PodGroup).spec.disrupts_all


@pytest.mark.parametrize(
    "values",
    [
        pytest.param((True, 1.5, 2**63, "x", [], {}), id="types", marks=pytest.mark.sample),
        pytest.param(VALUES, id="all", marks=pytest.mark.slow),
    ],
)
def test_every_field_of_every_type_takes_or_names_any_value(values: Sequence[Any]) -> None:
    types: list[type[msgspec.Struct]] = [*CAPTURED_KINDS.values(), *FILE_KINDS.values()]
    types += [SnapshotHeader, _Kubeconfig, _ExecCredential]
    seen: set[Any] = set()
    n_named = 0
    for type_ in types:
        for path in fields_of(type_, seen):
            for value in values:
                outcome = outcome_of(with_value({}, path, value), type_)
                n_named += isinstance(outcome, str) and bool(outcome)
    assert n_named > 1000

"""Stand-ins for names and hashes."""

import re
from typing import Any

import msgspec
import pytest

from kschedctl.common.errors import SnapshotError
from kschedctl.controllers.workloads.template import generated_name, has_template, template_hash
from kschedctl.objects.workload import PodTemplateSpec, ReplicaSet
from tests.builders import make_container, make_object


def template(cpu: Any = "500m", **metadata: Any) -> PodTemplateSpec:
    spec = {"containers": [make_container(requests={"cpu": cpu})]}
    return msgspec.convert({"metadata": metadata, "spec": spec}, PodTemplateSpec)


def without_resources(**container: Any) -> PodTemplateSpec:
    spec = {"containers": [{"name": "c", "image": "registry.example/app:1", **container}]}
    return msgspec.convert({"spec": spec}, PodTemplateSpec)


def test_what_is_empty_and_what_is_not_there_have_the_same_hash() -> None:
    assert template_hash(without_resources()) == template_hash(without_resources(resources={}, ports=[]))


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        pytest.param(template(), True, id="the same"),
        pytest.param(template(0.5), True, id="in other words"),
        pytest.param(template("1"), False, id="another request"),
        pytest.param(template(labels={"a": "b"}), False, id="another label"),
        pytest.param(template(labels={"pod-template-hash": "b"}), True, id="the hash itself does not count"),
        pytest.param(without_resources(), False, id="no request"),
        pytest.param(template(name="a"), True, id="a name that gets into no pod"),
    ],
)
def test_hash(other: PodTemplateSpec, is_same: bool) -> None:
    own = template_hash(template())
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{1,10}", own)
    assert (template_hash(other) == own) == is_same


def test_generated_names() -> None:
    assert generated_name("a" * 70) == "a" * 58 + "xxxxx"
    assert len({generated_name("a-", number) for number in range(1000)}) == 1000


def test_a_stored_template_that_is_wrong_is_an_error_of_the_snapshot() -> None:
    stored = make_object(ReplicaSet, "web", namespace="shop", spec={"template": msgspec.to_builtins(template("lots"))})
    with pytest.raises(SnapshotError, match=r"ReplicaSet shop/web: spec.template.spec.containers\[0\].resources"):
        has_template(stored, template())

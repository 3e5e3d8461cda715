"""Properties of names that their pseudonyms preserve."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.names import label_value_problems, qualified_name_problems
from kschedctl.objects.resources import is_extended_resource
from kschedctl.scheduler.plugins.image_locality import normalized_image_name
from kschedctl.scheduler.volumes.csi_nodes import inline_handle, volume_handle
from kschedctl.sources.snapshot.pseudonyms import Pseudonyms
from tests.builders import make_volume

WORDS = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True)


def renamed(what: Callable[[Pseudonyms], tuple[str, ...]]) -> tuple[str, ...]:
    names = Pseudonyms()
    what(names)
    names.settle((), ())
    return what(names)


@pytest.mark.parametrize("text", ["", "true", "default", "kube-system", "system-node-critical", "kubernetes.io/gce-pd"])
def test_words_of_every_cluster_are_kept(text: str) -> None:
    assert renamed(lambda names: (names.word(text),)) == (text,)


@pytest.mark.parametrize(
    ("key", "pseudonym"),
    [
        ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        ("pod-template-hash", "pod-template-hash"),
        ("team", "key-1"),
        ("example.com/team", "key-1"),
        ("node-role.kubernetes.io/payroll", "node-role.kubernetes.io/key-1"),
        ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/control-plane"),
    ],
)
def test_keys(key: str, pseudonym: str) -> None:
    assert renamed(lambda names: (names.key(key),)) == (pseudonym,)


@pytest.mark.parametrize(
    ("resource", "pseudonym"),
    [
        ("cpu", "cpu"),
        ("requests.memory", "requests.memory"),
        ("hugepages-2Mi", "hugepages-2Mi"),
        ("count/deployments.apps", "count/deployments.apps"),
        ("acme.com/gpu", "example.com/resource-1"),
        ("requests.acme.com/gpu", "requests.example.com/resource-1"),
        ("gold.storageclass.storage.k8s.io/requests.storage", "name-1.storageclass.storage.k8s.io/requests.storage"),
    ],
)
def test_resources(resource: str, pseudonym: str) -> None:
    assert renamed(lambda names: (names.resource(resource),)) == (pseudonym,)
    assert is_extended_resource(resource) == is_extended_resource(pseudonym)


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_equal_names_stay_equal_and_others_different_and_in_order(words: list[str]) -> None:
    found = renamed(lambda names: tuple(names.word(word) for word in words))
    free = [(word, name) for word, name in zip(words, found, strict=True) if word != name]
    assert len({name for _, name in free}) == len({word for word, _ in free})
    plain = [(word, name) for word, name in free if name.startswith("name-")]
    assert sorted(plain) == sorted(plain, key=lambda pair: pair[1])


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_pseudonyms_are_valid(words: list[str]) -> None:
    assert not any(map(label_value_problems, renamed(lambda names: tuple(names.value("k", word) for word in words))))
    assert not any(map(qualified_name_problems, renamed(lambda names: tuple(names.key(word) for word in words))))


def test_numbers_that_others_are_compared_with_stay() -> None:
    found = renamed(
        lambda n: (*n.compare("size", ["10"]), n.value("size", "9"), n.value("size", "big"), n.value("other", "7"))
    )
    assert found[:2] == ("10", "9")
    assert found[2].startswith("value-")
    assert found[3].startswith("value-")


@pytest.mark.parametrize(
    ("one", "other"), [("app", "app:latest"), ("reg.example.com:5000/app", "reg.example.com:5000/app:latest")]
)
def test_image_without_a_tag_is_the_latest(one: str, other: str) -> None:
    found = renamed(lambda names: (names.image(one), names.image(other)))
    assert normalized_image_name(found[0]) == normalized_image_name(found[1])


def test_images_keep_their_parts() -> None:
    found = renamed(
        lambda names: (names.image("a/b:1"), names.image("a/b:2"), names.image("a/b@sha256:12"), names.image("c:1"))
    )
    assert found[0] == "image-1:tag-1"
    assert found[1] == "image-1:tag-2"
    assert found[2].startswith("image-1@sha256:")
    assert found[3] == "image-2:tag-1"


def test_zones_of_a_volume_stay_zones() -> None:
    several, *single = renamed(lambda names: (names.word("a__b"), names.word("a"), names.word("b")))
    assert several.split("__") == single


def test_disks_are_still_the_same_in_tree_and_in_csi() -> None:
    disk = make_volume(source={"awsElasticBlockStore": {"volumeID": "aws://red/vol-1"}})
    url, plain = renamed(lambda names: (names.word("aws://red/vol-1"), names.word("vol-1")))
    assert volume_handle(disk) == "vol-1"
    assert volume_handle(make_volume(source={"awsElasticBlockStore": {"volumeID": url}})) == plain
    gce = make_volume(source={"gcePersistentDisk": {"pdName": "disk"}})
    handle, name = renamed(lambda names: (names.word(inline_handle(gce.spec)), names.word("disk")))
    assert inline_handle(make_volume(source={"gcePersistentDisk": {"pdName": name}}).spec) == handle


def test_regional_disks_keep_their_region() -> None:
    def handle(zones: str) -> str:
        return volume_handle(
            make_volume(source={"gcePersistentDisk": {"pdName": "d"}}, labels={"topology.kubernetes.io/zone": zones})
        )

    zones = "us-central1-a__us-central1-b"
    found = renamed(
        lambda names: (
            names.word(zones),
            names.word("projects/UNSPECIFIED/regions/us-central1/disks/d"),
            names.word("d"),
        )
    )
    assert handle(zones) == "projects/UNSPECIFIED/regions/us-central1/disks/d"
    assert handle(found[0]) == found[1].replace(found[2], "d")


def test_names_that_consist_of_others_still_do() -> None:
    names = Pseudonyms()
    words = ["web", "web-0", "data", "data-web-0", "job-x", "scratch", "job-x-scratch"]
    for word in words:
        names.word(word)
    names.settle(["web", "data\0web"], [("job-x", "scratch")])
    web, web_0, data, data_web_0, job, scratch, job_scratch = map(names.word, words)
    assert web_0 == f"{web}-0"
    assert data_web_0 == f"{data}-{web}-0"
    assert job_scratch == f"{job}-{scratch}"

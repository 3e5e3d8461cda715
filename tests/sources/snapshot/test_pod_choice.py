"""The choice of the pod to explain."""

from pathlib import Path

import pytest

from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Location
from kschedctl.sources.snapshot.pod_choice import find_pod, is_manifest, only_pod
from tests.builders import make_cluster, make_node, make_pod

PODS = make_cluster(
    [make_node("a")],
    [make_pod("web-1", namespace="shop"), make_pod("web-1", namespace="test"), make_pod("api-1", namespace="shop")],
).pods


def test_finds_by_namespace_and_name() -> None:
    assert find_pod(PODS, "web-1", "test").key == "test/web-1"
    assert find_pod(PODS, "api-1", None).key == "shop/api-1"


@pytest.mark.parametrize(
    ("name", "namespace", "problem", "hint"),
    [
        ("web-1", None, "the snapshot has 2 pods named web-1", "name one: shop/web-1, test/web-1"),
        ("api-1", "test", "the snapshot has no pod test/api-1", "did you mean shop/api-1?"),
        ("apy-1", "shop", "the snapshot has no pod shop/apy-1", "did you mean shop/api-1?"),
        ("zzz", None, "the snapshot has no pod zzz in any namespace", "finished pods are left out"),
    ],
)
def test_tells_what_there_is_instead(name: str, namespace: str | None, problem: str, hint: str) -> None:
    with pytest.raises(ManifestError) as raised:
        find_pod(PODS, name, namespace)
    (finding,) = raised.value.findings
    assert (finding.problem, finding.hint) == (problem, hint)


def test_manifests_are_told_by_suffix_or_by_being_there(tmp_path: Path) -> None:
    file = tmp_path / "pod"
    file.touch()
    assert all(map(is_manifest, ["-", "pod.yaml", "x/pod.YML", "pod.json.gz", str(file)]))
    assert all(map(is_manifest, [str(tmp_path), "deploy/", "./deploy", "../web"]))
    assert not any(map(is_manifest, ["web-1", "shop/web-1", "pod/web-1", "deploy/web"]))


def test_a_folder_is_manifests_unless_its_name_begins_with_a_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("web-1/base", "empty", "deploy/api"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("web-1/base/pod.yaml", "empty/notes.txt", "deploy/web", "deploy/api/pod.yaml"):
        (tmp_path / file).touch()
    texts = ("web-1", "web-1/", "web-2", "empty", "empty/", "deploy", "deploy/web", "deploy/api", "deploy/api/", "")
    assert [is_manifest(text) for text in texts] == [True, True, False, False, True, True, True, False, True, False]


def test_manifest_must_have_one_pod() -> None:
    place = Location("pods.yaml")
    assert only_pod([(make_node("a"), place), (make_pod("p"), place)], "pods.yaml") == (make_pod("p"), place)
    with pytest.raises(ManifestError, match=r"pods\.yaml: holds no pods, one is expected"):
        only_pod([], "pods.yaml")
    with pytest.raises(ManifestError, match="holds 2 pods"):
        only_pod([(make_pod("p"), place), (make_pod("q"), place)], "pods.yaml")

"""Folders and archives that hold several clusters are refused, and one of them is chosen by its name or path."""

import io
import json
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from kschedctl.common.errors import SnapshotError
from kschedctl.questions.snapshot.analysis import snapshot_info
from kschedctl.sources.snapshot.cache import load_cached
from kschedctl.sources.snapshot.capture import capture, write_capture
from kschedctl.sources.snapshot.load import SnapshotReader, names_of_clusters, read_manifest
from tests.builders import load_engine

pytestmark = pytest.mark.usefixtures("folder")

IMAGE = "quay-io-openshift-sha256-" + "0" * 64
Files = dict[str, str]


def obj(kind: str, name: str, **metadata: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **metadata}}


def listed(kind: str, *names: str) -> str:
    items = [{"metadata": {"name": name}} for name in names]
    return json.dumps({"apiVersion": "v1", "kind": f"{kind}List", "items": items})


def dump(at: str, name: str) -> Files:
    """Return the files of kubectl cluster-info dump."""
    pods = {f"{at}/{namespace}/pods.json": listed("Pod", f"{name}-pod") for namespace in ("default", "kube-system")}
    return {f"{at}/nodes.json": listed("Node", f"{name}-node"), **pods}


def must_gather(at: str, name: str, image: str = IMAGE) -> Files:
    root = f"{at}/{image}"
    return {
        f"{at}/timestamp": "2026-01-01",
        f"{root}/cluster-scoped-resources/core/nodes/{name}-node.yaml": json.dumps(obj("Node", f"{name}-node")),
        f"{root}/namespaces/shop/pods/{name}/{name}.yaml": json.dumps(obj("Pod", f"{name}-pod", namespace="shop")),
    }


def support_bundle(at: str, name: str) -> Files:
    """Return the files of troubleshoot.sh."""
    root = f"{at}/cluster-resources"
    return {
        f"{root}/nodes.json": listed("Node", f"{name}-node"),
        f"{root}/pods/shop.json": listed("Pod", f"{name}-pod"),
        f"{root}/pods/db.json": listed("Pod", f"{name}-db"),
        f"{at}/host-collectors/system/memory.json": '{"total": 1}',
    }


def sos_report(at: str, name: str) -> Files:
    root = f"{at}/sos_commands/kubernetes/cluster-info"
    return {**dump(root, name), f"{at}/version.txt": "sos report"}


def one_file(at: str, name: str) -> Files:
    return {f"{at}.yaml": f"{json.dumps(obj('Node', f'{name}-node'))}\n{json.dumps(obj('Pod', f'{name}-pod'))}"}


def captured(at: str, name: str) -> Files:
    """Return the files of kschedctl snapshot, here of a cluster without pods."""
    Path("captured.json").write_text(listed("Node", f"{name}-node"))
    write_capture(capture(SnapshotReader(["captured.json"])), f"captured-{name}", force=False)
    return {f"{at}/{path.name}": path.read_text() for path in Path(f"captured-{name}").iterdir()}


LAYOUTS = {
    "kubectl cluster-info dump": dump,
    "must-gather": must_gather,
    "support bundle": support_bundle,
    "sos report": sos_report,
    "files": one_file,
    "captured snapshots": captured,
}


def written(files: Files, form: str, name: str = "all") -> str:
    """Write files as a folder or an archive, and return its path."""
    if form == "folder":
        for inside, text in files.items():
            Path(name, inside).parent.mkdir(parents=True, exist_ok=True)
            Path(name, inside).write_text(text)
        return name
    if form == "zip":
        with zipfile.ZipFile(f"{name}.zip", "w") as archive:
            for inside, text in files.items():
                archive.writestr(inside, text)
        return f"{name}.zip"
    with tarfile.open(f"{name}.tar.gz", "w:gz") as packed:
        for inside, text in files.items():
            member = tarfile.TarInfo(f"./{inside}")
            member.size = len(text.encode())
            packed.addfile(member, io.BytesIO(text.encode()))
    return f"{name}.tar.gz"


def nodes(*paths: str, cluster: str = "", stdin: str = "") -> list[str]:
    given = io.BytesIO(Path(stdin).read_bytes()) if stdin else None
    found = SnapshotReader(paths, cluster=cluster, stdin=given)
    return [each.name for each, _ in found if type(each).__name__ == "Node"]


@pytest.mark.parametrize("form", ["folder", "tar", "zip"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_several_clusters_are_refused_with_their_names_and_one_can_be_chosen(layout: str, form: str) -> None:
    make = LAYOUTS[layout]
    suffix = ".yaml" if layout == "files" else ""
    path = written({**make("prod/eu", "eu"), **make("prod/us", "us"), **make("ap", "ap")}, form)
    known = [f"ap{suffix}", f"prod/eu{suffix}", f"prod/us{suffix}"]
    with pytest.raises(SnapshotError) as refused:
        nodes(path)
    first, second = str(refused.value).splitlines()
    assert first == f"{path}: holds 3 clusters: {known[0]}, {known[1]} and {known[2]}"
    assert "--cluster NAME" in second
    assert names_of_clusters([path]) == known
    for name in ("us", f"prod/us{suffix}", f"./prod/us{suffix}/"):
        assert nodes(path, cluster=name) == ["us-node"]
    with pytest.raises(SnapshotError, match=f'there is no cluster "shop"\n  the clusters are ap{suffix}, prod/eu'):
        nodes(path, cluster="shop")


ONE: dict[str, Files | Callable[[str, str], Files]] = {
    **LAYOUTS,
    "images of must-gather": {
        **must_gather("must-gather", "a", "quay-io-a-sha256-" + "1" * 64),
        **must_gather("must-gather", "b", "quay-io-b-sha256-" + "2" * 64),
    },
    "a folder of nodes beside folders of pods": {
        "nodes/a.json": listed("Node", "a"),
        "nodes/b.json": listed("Node", "b"),
        "pods/a.json": listed("Pod", "a"),
        "pods/b.json": listed("Pod", "b"),
    },
    "more nodes in a folder": {
        "nodes.json": listed("Node", "a"),
        "pods.json": listed("Pod", "a"),
        "pool/nodes.json": listed("Node", "b"),
        "pool/pods.json": listed("Pod", "b"),
    },
    "a captured snapshot and a folder in it": {
        "snapshot.json": '{"kschedctlVersion": "1"}',
        "nodes.json": listed("Node", "a"),
        "pods/pods.json": listed("Pod", "a"),
    },
    "pods elsewhere": {**one_file("all", "a"), "pending.yaml": listed("Pod", "b")},
    "very deep": dump("/".join("d" * 500), "a"),
}


@pytest.mark.parametrize("name", ONE)
def test_one_cluster_is_read_as_a_whole(name: str) -> None:
    files = ONE[name]
    path = written(files("prod/eu", "eu") if callable(files) else files, "tar")
    assert nodes(path)
    assert names_of_clusters([path]) == []
    with pytest.raises(SnapshotError, match="it is one cluster: omit --cluster"):
        nodes(path, cluster="x")


def test_a_name_that_several_have() -> None:
    path = written({**dump("eu/prod", "eu"), **dump("us/prod", "us"), **dump("us/test", "test")}, "tar")
    with pytest.raises(SnapshotError, match='"prod" can be eu or us/prod\n  give the path inside'):
        nodes(path, cluster="prod")
    assert nodes(path, cluster="us/prod") == ["us-node"]
    assert nodes(path, cluster="eu/prod") == nodes(path, cluster="eu") == ["eu-node"]
    assert nodes(path, cluster="test") == ["test-node"]
    with pytest.raises(SnapshotError, match="holds 2 clusters: us/prod and us/test"):
        nodes(path, cluster="us")


def test_the_name_of_a_namespace_is_none_of_a_cluster() -> None:
    path = written({**dump("eu", "eu"), **dump("us", "us")}, "folder")
    with pytest.raises(SnapshotError, match='there is no cluster "kube-system"'):
        nodes(path, cluster="kube-system")


def test_paths_that_are_named_one_by_one_are_one_cluster() -> None:
    eu, us = (written(dump(".", name), "folder", name) for name in ("eu", "us"))
    assert nodes(eu, us) == ["eu-node", "us-node"]
    files = [written(one_file(name, name), "folder", "f") + f"/{name}.yaml" for name in ("eu", "us")]
    assert nodes(*files) == ["eu-node", "us-node"]
    path = written({**dump("eu", "eu"), **dump("us", "us")}, "tar")
    assert nodes(path, files[0], cluster="us") == ["us-node", "eu-node"]


def test_standard_input_is_chosen_from_by_path() -> None:
    path = written({**dump("prod/eu", "eu"), **dump("prod/us", "us")}, "tar")
    with pytest.raises(SnapshotError, match="standard input: holds 2 clusters"):
        nodes("-", stdin=path)
    assert nodes("-", stdin=path, cluster="prod/eu") == ["eu-node"]
    with pytest.raises(SnapshotError, match='standard input: there is no cluster "eu"\n  give the path inside'):
        nodes("-", stdin=path, cluster="eu")


@pytest.mark.parametrize("form", ["folder", "tar"])
def test_what_other_clusters_lack_does_not_matter(form: str) -> None:
    files = {
        **dump("eu", "eu"),
        **dump("us", "us"),
        "us/broken.json": '{"apiVersion": "v1", "kind": "Pod", "metadata": 7}',
        "us/inner.tar.gz": "an archive",
    }
    path = written(files, form)
    reader = SnapshotReader([path], cluster="eu")
    assert len(list(reader)) == 3
    assert list(reader.summary.unread()) == []
    assert "of another cluster" in reader.summary.not_read
    with pytest.raises(SnapshotError, match=re.escape("us/broken.json")):
        nodes(path, cluster="us")


def test_manifests_are_those_of_any_clusters() -> None:
    path = written({**one_file("eu", "eu"), **one_file("us", "us")}, "folder")
    assert len(read_manifest(path, allow_others=True).objects) == 4


def test_programs_choose_a_cluster() -> None:
    path = written({**dump("eu", "eu"), **dump("us", "us")}, "tar")
    assert load_engine(path, cluster="us").nodes.names == ("us-node",)
    assert snapshot_info(path, cluster="us").kinds == {"Node": 1, "Pod": 2}


@pytest.mark.parametrize("form", ["folder", "tar"])
def test_each_cluster_is_cached(form: str) -> None:
    path = written({**dump("eu", "eu"), **dump("us", "us")}, form)

    def cached(names: Iterable[str]) -> list[tuple[str, ...]]:
        return [load_cached([path], cluster=name).cluster.nodes.names for name in names]

    assert cached(["eu", "us", "eu", "us"]) == [("eu-node",), ("us-node",)] * 2
    assert len(list(Path().glob(".kschedctl-cache-*"))) == 2
    with pytest.raises(SnapshotError, match="holds 2 clusters"):
        load_cached([path])

"""From files to a cluster, or to a sentence about the input within bounds of time and memory."""

import gzip
import io
import json
import os
import struct
import tarfile
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.cli.batch import print_answers
from kschedctl.common.errors import InputError, KschedctlError, ManifestError, SnapshotError
from kschedctl.common.findings import Finding, Location
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import PriorityClass
from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.selectors import parse_int64
from kschedctl.objects.volume import StorageClass
from kschedctl.output.jsonpath import parse_steps, walk
from kschedctl.sources.snapshot.load import SnapshotReader, load_snapshot, read_manifest
from kschedctl.sources.snapshot.pod_choice import pod_of
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.sources.snapshot.validation import Validation
from tests.builders import load_engine
from tests.example_counts import scaled

pytestmark = pytest.mark.usefixtures("folder")

NODE = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}'
SERVICE_ACCOUNT = '{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}'
VERSION = '{"serverVersion": {"gitVersion": "v1.35.2"}}'


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / f"{name}.json"
        path.write_text(text)
    return folder


def test_cluster_knows_its_version(tmp_path: Path) -> None:
    snapshot = load_snapshot([write(tmp_path, nodes=NODE, version=VERSION, other=SERVICE_ACCOUNT)])
    assert snapshot.cluster.nodes.names == ("a",)
    assert snapshot.cluster.server_version == "v1.35.2"
    assert snapshot.left_out == {"ServiceAccount": 1}
    assert snapshot.paths == (str(tmp_path),)


def test_later_object_counts_with_a_warning(tmp_path: Path) -> None:
    other = json.dumps({**json.loads(NODE), "spec": {"unschedulable": True}})
    snapshot = load_snapshot([write(tmp_path, first=NODE, second=other)])
    assert snapshot.cluster.nodes.objects[0].spec.unschedulable
    (warning,) = snapshot.cluster.warnings
    assert "first.json, document 1 and again in" in warning


def test_more_objects_join_the_cluster(tmp_path: Path) -> None:
    more = [
        (PriorityClass(metadata=ObjectMeta(name="high"), value=7), Location("pod.yaml")),
        (Node(metadata=ObjectMeta(name="b")), Location("pod.yaml", 2)),
    ]
    cluster = load_snapshot([write(tmp_path, nodes=NODE)], more=more).cluster
    assert cluster.nodes.names == ("a", "b")
    assert cluster.get(PriorityClass, "high") is not None


def test_configuration_of_a_simulator_comes_along(tmp_path: Path) -> None:
    config = {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1"}
    export = json.dumps({"nodes": [json.loads(NODE)], "schedulerConfig": config})
    assert load_snapshot([write(tmp_path, export=export)]).scheduler_config == config


def test_problems_are_told_together(tmp_path: Path) -> None:
    bad = json.dumps({**json.loads(NODE), "status": {"allocatable": {"cpu": "two"}}})
    with pytest.raises(SnapshotError, match=r'status\.allocatable\.cpu: "two" is not a quantity'):
        load_snapshot([write(tmp_path, nodes=bad)])


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\n"
READING_NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"


def reading_write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def read(*paths: str, stdin: str | None = None) -> tuple[list[str], ReadSummary]:
    reader = SnapshotReader(paths, stdin=None if stdin is None else io.BytesIO(stdin.encode()))
    objects = [
        f"{type(each).__name__} {'/'.join(filter(None, (each.namespace, each.name)))} in {location}"
        for each, location in reader
    ]
    return objects, reader.summary


def of_kind(kind: str, name: str, **metadata: str) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": "v1", "metadata": {"name": name, **metadata}}


def without_kind(name: str, **metadata: str) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}}


def listed(kind: str, items: list[dict[str, Any]] | None, version: str = "v1") -> str:
    return json.dumps(
        {"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": "7"}, "items": items}, indent=4
    )


def test_the_folder_of_kubectl_cluster_info_dump() -> None:
    reading_write(
        {
            "dump/nodes.json": listed("NodeList", [without_kind("node-1"), without_kind("node-2")]),
            "dump/shop/pods.json": listed("PodList", [without_kind("web", namespace="shop")]),
            "dump/shop/events.json": listed("EventList", [without_kind("e1"), without_kind("e2")]),
            "dump/shop/revisions.json": listed("ControllerRevisionList", [without_kind("web")], "apps/v1"),
            "dump/shop/services.json": listed("ServiceList", None),
            "dump/shop/web/logs.txt": "==== START logs for container web of pod shop/web ====\n{not json",
        }
    )
    objects, summary = read("dump")
    assert objects == [
        "Node node-1 in dump/nodes.json, document 1, item 1",
        "Node node-2 in dump/nodes.json, document 1, item 2",
        "Pod shop/web in dump/shop/pods.json, document 1, item 1",
    ]
    assert summary.n_objects == 3
    assert summary.left_out == {"Event": 2, "ControllerRevision.apps": 1}
    assert sum(summary.not_read.values()) == 1
    assert len(summary.files) == 5


def test_what_kubectl_get_writes_as_yaml() -> None:
    text = """\
apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    creationTimestamp: null
    name: node-1
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: kube-root-ca.crt
- apiVersion: v1
  kind: Pod
  metadata:
    name: web
    namespace: shop
kind: List
metadata:
  resourceVersion: ""
"""
    objects, summary = read("-", stdin=text)
    assert objects == [
        "Node node-1 in standard input, document 1, item 1",
        "Pod shop/web in standard input, document 1, item 3",
    ]
    assert summary.left_out == {"ConfigMap": 1}


@pytest.mark.parametrize("indent", [None, 4], ids=["compact", "indented"])
def test_what_kubectl_get_writes_as_json(indent: int | None) -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [of_kind("Node", "node-2")]}
    items = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}},
        {"metadata": {"name": "web"}, "kind": "Pod", "apiVersion": "v1"},
        inner,
        of_kind("Namespace", "shop"),
    ]
    reading_write({"all.json": json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=indent)})
    assert read("all.json")[0] == [
        "Node node-1 in all.json, document 1, item 1",
        "Pod web in all.json, document 1, item 2",
        "Node node-2 in all.json, document 1, item 3",
        "Namespace shop in all.json, document 1, item 4",
    ]


def test_a_kwokctl_snapshot_and_json_lines() -> None:
    reading_write(
        {
            "kwok.yaml": f"{READING_NODE}---\n{POD}",
            "pods.jsonl": "".join(json.dumps(of_kind("Pod", n)) + "\n" for n in "ab"),
        }
    )
    assert read("kwok.yaml", "pods.jsonl")[0] == [
        "Node node-1 in kwok.yaml, document 1",
        "Pod shop/web in kwok.yaml, document 2",
        "Pod a in pods.jsonl, document 1",
        "Pod b in pods.jsonl, document 2",
    ]


def test_an_export_of_kube_scheduler_simulator() -> None:
    config = {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1"}
    export = {
        "pods": [without_kind("web", namespace="shop")],
        "nodes": [without_kind("node-1")],
        "pvs": [without_kind("pv-1")],
        "pvcs": [without_kind("data", namespace="shop")],
        "storageClasses": [{**without_kind("fast"), "provisioner": "p"}],
        "priorityClasses": [{**without_kind("high"), "value": 10}],
        "schedulerConfig": config,
        "namespaces": None,
    }
    reading_write({"export.json": json.dumps(export)})
    reader = SnapshotReader(["export.json"])
    objects = {type(each).__name__: (each, str(location)) for each, location in reader}
    assert objects.keys() == {
        "Pod",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "PriorityClass",
    }
    storage_class, priority_class = objects["StorageClass"][0], objects["PriorityClass"][0]
    assert isinstance(storage_class, StorageClass)
    assert storage_class.provisioner == "p"
    assert isinstance(priority_class, PriorityClass)
    assert priority_class.value == 10
    assert objects["Pod"][1] == "export.json:pods, document 1, item 1"
    assert reader.summary.scheduler_config == config


def test_a_must_gather_folder() -> None:
    root = "must-gather/quay-io-sha256"
    reading_write(
        {
            f"{root}/cluster-scoped-resources/core/nodes/node-1.yaml": f"---\n{READING_NODE}",
            f"{root}/cluster-scoped-resources/config.openshift.io/dns.yaml": (
                "apiVersion: config.openshift.io/v1\nkind: DNSList\nitems:\n- metadata: {name: cluster}\n"
            ),
            f"{root}/namespaces/shop/core/pods.yaml": "kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: web}",
            f"{root}/namespaces/shop/pods/web/web.yaml": f"---\n{POD}",
            f"{root}/namespaces/shop/pods/web/web/web/logs/current.log": "{",
            f"{root}/etcd_info/endpoint_health.json": '[{"endpoint":"https://10.0.0.1:2379","health":true}]',
            f"{root}/event-filter.html": "<html>",
            "must-gather/timestamp": "2026-01-01",
        }
    )
    objects, summary = read("must-gather")
    assert objects == [
        f"Node node-1 in {root}/cluster-scoped-resources/core/nodes/node-1.yaml, document 1",
        f"Pod web in {root}/namespaces/shop/core/pods.yaml, document 1, item 1",
        f"Pod shop/web in {root}/namespaces/shop/pods/web/web.yaml, document 1",
    ]
    assert summary.left_out == {"DNS.config.openshift.io": 1}
    assert summary.not_read["holds no Kubernetes objects"] == 1
    assert sum(summary.not_read.values()) == 4


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param(
            '{"clientVersion":{"gitVersion":"v1.30.0"},"serverVersion":{"gitVersion":"v1.36.1"}}',
            "v1.36.1",
            id="kubectl",
        ),
        pytest.param('{"major":"1","minor":"35","gitVersion":"v1.35.2"}', "v1.35.2", id="api-server"),
        pytest.param('{"apiVersion":"v1","kind":"Info","gitVersion":"v1.34.0"}', "v1.34.0", id="header"),
        pytest.param("serverVersion:\n  gitVersion: v1.36.0-gke.1\n", "v1.36.0-gke.1", id="yaml"),
        pytest.param('{"serverVersion":null}', "", id="not-told"),
    ],
)
def test_the_control_planes_version(text: str, version: str) -> None:
    reading_write({"s/nodes.yaml": READING_NODE, "s/version.json": text})
    if text.startswith("serverVersion"):
        Path("s/version.json").rename("s/version.yaml")
    assert read("s")[1].git_version == version


def test_an_item_of_a_typed_list_with_nulls() -> None:
    text = listed("PodList", [{"metadata": {"name": "web", "labels": {"a": None}}, "spec": None}])
    ((pod, _),) = SnapshotReader(["-"], stdin=io.BytesIO(text.encode()))
    assert isinstance(pod, Pod)
    assert pod.metadata.labels == {"a": ""}


ITEM_POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
ITEM_NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "items": [ITEM_POD]}),
            ["Pod p"],
            id="a list that calls itself a Secret",
        ),
        pytest.param(
            json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "s"}, "items": [ITEM_NODE]}),
            ["Node n"],
            id="a list that calls itself a Pod",
        ),
        pytest.param(listed("SecretList", [ITEM_POD, without_kind("s")]), ["Pod p"], id="a list of Secrets"),
        pytest.param(listed("FooList", [ITEM_POD], "x.example/v1"), ["Pod p"], id="a list of custom resources"),
        pytest.param(listed("PodList", [ITEM_NODE, without_kind("p")]), ["Node n", "Pod p"], id="another kind"),
        pytest.param(
            listed("List", [{"apiVersion": "v1", "kind": "Secret", "items": [ITEM_POD]}]), ["Pod p"], id="in a list"
        ),
        pytest.param(
            '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"p"},'
            '"kind":"Pod"}]}',
            ["Pod p"],
            id="the second of two kinds",
        ),
        pytest.param(
            '{"apiVersion":"x/v1","kind":"Pod","metadata":{"name":"p"},"apiVersion":"v1"}',
            ["Pod p"],
            id="the second of two versions",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Secret\nkind: Pod\nmetadata: {name: p}\n", ["Pod p"], id="two kinds in YAML"
        ),
        pytest.param(
            f'{{"apiVersion":"v1","kind":"List","items":[{json.dumps(ITEM_POD)}],"items":[{json.dumps(ITEM_NODE)}]}}',
            ["Node n"],
            id="the second of two lists",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nitems:\n- apiVersion: v1\n  kind: Pod\n"
            "  metadata: {name: p}\n",
            ["Pod p"],
            id="a Secret of which YAML needs only the kind",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Secret\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: p}}]\n",
            ["Pod p"],
            id="flow",
        ),
        pytest.param(
            json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "items": None}), [], id="null"
        ),
    ],
)
def test_whatever_has_items_is_a_list_as_for_kubectl(text: str, found: list[str]) -> None:
    """`kubectl label --local -f` of 1.36 finds the same objects."""
    reading_write({"s/a.txt.json": text, "s/other.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n"})
    objects, _ = read("s")
    assert [each.partition(" in ")[0] for each in objects] == [*found, "Namespace other"]


BAD_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: api-0, namespace: shop}\nspec:\n"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param({}, "s: there is no such file or folder", id="not-there"),
        pytest.param(
            {"s/readme.md": "x", "s/.git/x": "y"},
            "s: no object that kschedctl reads was found\n"
            "  files: 0 read, 1 hidden, 1 not named .yaml, .yml, .json, .jsonl, .ndjson or one of these with .gz",
            id="nothing-readable",
        ),
        pytest.param(
            {"s/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"},
            "s: no object that kschedctl reads was found\n  files: 1 read; kinds left out: 1 ConfigMap",
            id="only-other-kinds",
        ),
        pytest.param(
            {"s/values.yaml": "replicas: 2\n"},
            "s: no object that kschedctl reads was found\n  files: 0 read, 1 holds no Kubernetes objects",
            id="only-other-files",
        ),
        pytest.param({"s": ""}, "s: no object that kschedctl reads was found\n  files: 1 read", id="empty-file"),
        pytest.param(
            {"s": "just text"}, 's, document 1: "just text" is not a Kubernetes object', id="text-that-the-user-names"
        ),
        pytest.param(
            {"s": "kind: Pod\n"},
            "s, document 1: apiVersion: is missing\n  every object needs apiVersion and kind",
            id="no-version",
        ),
        pytest.param(
            {"s/x.yaml": f"{READING_NODE}---\nmetadata: {{name: x}}\n"},
            "s/x.yaml, document 2: kind: is missing\n  every object needs apiVersion and kind",
            id="no-kind-beside-objects",
        ),
        pytest.param(
            {"s": listed("List", [without_kind("x")])},
            "s, document 1, item 1: kind: is missing\n  every object needs apiVersion and kind",
            id="item-without-kind",
        ),
        pytest.param(
            {"s": json.dumps({"kind": "List", "apiVersion": "v1", "items": [5, None]})},
            "s, document 1, item 1: 5 is not a Kubernetes object\n"
            "s, document 1, item 2: null is not a Kubernetes object",
            id="items-that-are-no-objects",
        ),
        pytest.param(
            {"s/pods.yaml": f"{READING_NODE}---\n{BAD_POD}  containers:\n  - resources: {{requests: {{cpu: [1]}}}}\n"},
            "s/pods.yaml, document 2 (Pod shop/api-0): spec.containers[0].resources.requests.cpu: "
            "[1] is a list, a quantity such as 2, 500m or 1.5Gi is expected",
            id="wrong-type",
        ),
        pytest.param(
            {"s": "apiVersion: v1\nkind: Node\nmetadata: {}\n"},
            "s, document 1 (Node): metadata.name: is missing\n  every object needs a name",
            id="node-without-name",
        ),
        pytest.param(
            {"s": "apiVersion: v1\nkind: Node\nspec: {taints: [{key: [gpu]}]}\nmetadata: [x]\n"},
            's, document 1 (Node): metadata: ["x"] is a list, an object is expected\n'
            's, document 1 (Node): spec.taints[0].key: ["gpu"] is a list, text is expected',
            id="two-problems-in-one-object",
        ),
        pytest.param(
            {
                "s/a.yaml": f"{BAD_POD}  priority: high\n---\na: b: c\n",
                "s/nodes.yaml": READING_NODE,
                "s/pods.json": '{"kind": ',
                "s/pvcs.json": "\0\1\2",
            },
            's/a.yaml, document 1 (Pod shop/api-0): spec.priority: "high" is text, an integer of 32 bits is expected\n'
            "s/a.yaml, document 2: line 7, column 5: mapping values are not allowed in this context\n"
            "s/pods.json, document 1: line 1, column 10: is not valid JSON: the text ends too early\n"
            "s/pvcs.json: is a binary file, not YAML or JSON\n"
            "  UTF-8 text is expected",
            id="problems-of-several-files",
        ),
        pytest.param(
            {"s": json.dumps({"pods": {}, "nodes": [without_kind("n")]})},
            "s, document 1: pods: {} is not a list",
            id="simulator-export-with-a-list-that-is-none",
        ),
        pytest.param(
            {"s": json.dumps({"nodes": [without_kind("n")], "schedulerConfig": 5})},
            "s, document 1: schedulerConfig: 5 is not an object",
            id="simulator-export-with-a-configuration-that-is-none",
        ),
    ],
)
def test_bad_input_is_one_error_that_says_where(files: dict[str, str], message: str) -> None:
    reading_write(files)
    with pytest.raises(SnapshotError) as raised:
        read("s")
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            b'{"nodes\xff":[]}',
            "s, document 1: holds text that is not UTF-8\n  save it as UTF-8",
            id="document-without-kind",
        ),
        pytest.param(
            b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"\xff"}}',
            "s, document 1 (Node): holds text that is not UTF-8\n  save it as UTF-8",
            id="object",
        ),
    ],
)
def test_text_that_is_not_utf8_is_an_error(content: bytes, message: str) -> None:
    Path("s").write_bytes(content)
    with pytest.raises(SnapshotError) as raised:
        read("s")
    assert str(raised.value) == message


def test_ten_problems_are_enough() -> None:
    reading_write({"s": listed("NodeList", [without_kind("")] * 1000)})
    with pytest.raises(SnapshotError) as raised:
        read("s")
    lines = str(raised.value).splitlines()
    assert lines[:2] == ["s, document 1, item 1 (Node): metadata.name: is missing", "  every object needs a name"]
    assert lines[-1] == "only the first 10 errors are shown"
    assert len(lines) == 21


def test_nothing_is_yielded_after_a_problem() -> None:
    reading_write({"s": listed("NodeList", [without_kind("a"), without_kind(""), without_kind("b")])})
    names: list[str] = []
    with pytest.raises(SnapshotError):
        names.extend(each.name for each, _ in SnapshotReader(["s"]))
    reader = iter(SnapshotReader(["s"]))
    assert next(reader)[0].name == "a"
    with pytest.raises(SnapshotError):
        next(reader)


def test_a_manifest_is_a_list_of_objects() -> None:
    reading_write({"m.yaml": f"{POD}---\n{READING_NODE}"})
    read_objects = read_manifest("m.yaml").objects
    assert [(type(each).__name__, location.document) for each, location in read_objects] == [("Pod", 1), ("Node", 2)]
    ((pod, location),) = read_manifest("-", stdin=io.BytesIO(POD.encode())).objects
    assert (pod.name, str(location)) == ("web", "standard input, document 1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "apiVersion: apps/v1\nkind: Deploymint\nmetadata: {name: web, namespace: shop}\n",
            "m.yaml, document 1 (Deploymint shop/web): kind Deploymint (apps/v1) is not one that kschedctl reads\n"
            "  give a Pod, or remove this object",
            id="unknown-kind",
        ),
        pytest.param(
            f"{POD}spec: {{priority: x}}\n",
            "m.yaml, document 1 (Pod shop/web): spec.priority: "
            "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32\n"
            "  an integer in the range of the type is expected",
            id="wrong-type",
        ),
        pytest.param("", "m.yaml: no object that kschedctl reads was found\n  files: 1 read", id="empty"),
    ],
)
def test_a_bad_manifest_is_a_manifest_error(text: str, message: str) -> None:
    reading_write({"m.yaml": text})
    with pytest.raises(ManifestError) as raised:
        read_manifest("m.yaml")
    assert str(raised.value) == message


def test_other_kinds_of_a_manifest_are_counted_where_that_is_asked() -> None:
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
    reading_write({"m.yaml": f"{POD}---\n{config_map}", "settings.yaml": config_map, "empty.yaml": ""})
    manifest = read_manifest("m.yaml", allow_others=True)
    assert [each.name for each, _ in manifest.objects] == ["web"]
    # Another file has what is asked about.
    settings = read_manifest("settings.yaml", allow_others=True)
    assert settings.objects == []
    assert (manifest + settings).left_out == {"ConfigMap": 2}
    with pytest.raises(ManifestError, match="no object that kschedctl reads was found"):
        read_manifest("empty.yaml", allow_others=True)


def test_the_decompressors_and_yaml_are_imported_only_where_they_are_used() -> None:
    import subprocess
    import sys

    code = (
        "import sys, kschedctl.sources.snapshot.load; print({'yaml', 'tarfile', 'zipfile', 'gzip'} & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert answer.stdout.strip() == "set()"


def archives() -> list[bytes]:
    content = f"{READING_NODE}---\n{POD}".encode()
    tar, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        member = tarfile.TarInfo("a.yaml")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive_:
        archive_.writestr("a.yaml", content)
    listed_pods = listed("PodList", [without_kind("web")]).encode()
    return [
        content,
        listed_pods,
        gzip.compress(content),
        gzip.compress(tar.getvalue()),
        tar.getvalue(),
        zipped.getvalue(),
    ]


@settings(max_examples=scaled(200), deadline=None)
@given(st.sampled_from(archives()), st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=4)), max_size=4))
def test_whatever_is_broken_ends_in_a_snapshot_error(content: bytes, changes: list[tuple[int, bytes]]) -> None:
    for at, new in changes:
        at %= len(content)
        content = content[:at] + new + content[at + max(len(new), 1) :]
    with suppress(SnapshotError):
        list(SnapshotReader(["-"], stdin=io.BytesIO(content)))


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_end_in_objects_or_a_snapshot_error(content: bytes) -> None:
    with pytest.raises(SnapshotError):
        list(SnapshotReader(["-"], stdin=io.BytesIO(content)))


def test_a_value_that_cannot_be_decoded_has_its_line_and_column() -> None:
    reading_write({"m.yaml": f"{POD}spec: {{priority: x}}\n"})
    with pytest.raises(ManifestError) as raised:
        read_manifest("m.yaml")
    (finding,) = raised.value.findings
    assert str(finding.position) == "line 4, column 18"


NODE_YAML = b"apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"
LONG = "7" * 5000


def node(cpu: object) -> str:
    return f'{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n"}},"status":{{"allocatable":{{"cpu":{cpu}}}}}}}'


@pytest.mark.parametrize("where", ["json", "yaml", "batch"])
@pytest.mark.parametrize(
    "cpu",
    [
        pytest.param(2**63, id="above-int64"),
        pytest.param(10**30, id="above-64-bits"),
        pytest.param(-(10**30), id="below"),
        pytest.param("1" * 5000, id="of-5000-digits"),
        pytest.param(f'"{LONG}"', id="text-of-5000-digits"),
        pytest.param('"' + "1" * 1_000_000 + '"', id="text-of-a-megabyte"),
    ],
)
def test_a_quantity_that_no_server_keeps(cpu: object, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    if where == "batch":
        case = f'{{"id":"a","objects":[{node(cpu)}],"pod":{{"metadata":{{"name":"p"}}}}}}'
        Path("cases").write_text(case)
        print_answers("cases", kubernetes_version="", feature_gates={}, jobs=1)
        captured = capsys.readouterr()
        assert '"error"' in captured.out or '"error"' in captured.err
        return
    Path(f"s.{where}").write_text(node(cpu) if where == "json" else f"--- \n{node(cpu)}\n")
    if where == "yaml" and isinstance(cpu, int) and abs(cpu) > 2**64:
        # kubectl makes a float of it on the way to JSON.
        load_snapshot(["s.yaml"])
        return
    with pytest.raises(SnapshotError) as raised:
        load_snapshot([f"s.{where}"])
    assert len(str(raised.value)) < 2000


@pytest.mark.parametrize("depth", [2000, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'], ids=["lists", "objects"])
def test_cases_nested_thousands_deep(depth: int, opening: str, capsys: pytest.CaptureFixture[str]) -> None:
    nested = opening * depth + "1" + ("]" if opening == "[" else "}") * depth
    for line in (nested, f'{{"id":"a","pod":{{"metadata":{{"name":"p"}},"spec":{nested}}}}}'):
        Path("cases").write_text(line + "\n")
        print_answers("cases", kubernetes_version="", feature_gates={}, jobs=1)
        assert '"error"' in capsys.readouterr().out
        Path("s.json").write_text(line)
        with pytest.raises(SnapshotError):
            load_snapshot(["s.json"])
        with pytest.raises(KschedctlError):
            load_engine("-", stdin=io.BytesIO(NODE_YAML), config="s.json")


def zip_of(method: int, content: bytes, flags: int = 0) -> bytes:
    name = b"nodes.yaml"
    fields = (20, flags, method, 0, 0, zlib.crc32(NODE_YAML), len(content), len(NODE_YAML), len(name), 0)
    local = b"PK\x03\x04" + struct.pack("<HHHHHLLLHH", *fields) + name + content
    central = b"PK\x01\x02" + struct.pack("<HHHHHHLLLHHHHHLL", 20, *fields, 0, 0, 0, 0, 0) + name
    return local + central + b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 1, 1, len(central), len(local), 0)


@pytest.mark.parametrize(
    ("method", "content"),
    [
        pytest.param(zipfile.ZIP_DEFLATED, b"\xff" * 30, id="broken-deflate"),
        pytest.param(zipfile.ZIP_DEFLATED, b"", id="empty-deflate"),
        pytest.param(zipfile.ZIP_BZIP2, b"\xff" * 30, id="broken-bzip2"),
        pytest.param(zipfile.ZIP_LZMA, b"\xff" * 30, id="broken-lzma"),
        pytest.param(zipfile.ZIP_LZMA, b"\x09\x04\x05\x00\xff\xff\xff\xff\xff", id="filters-that-lzma-does-not-have"),
        pytest.param(zipfile.ZIP_LZMA, b"", id="empty-lzma"),
        pytest.param(9, b"\xff" * 30, id="deflate64"),
        pytest.param(99, b"\xff" * 30, id="encryption-of-winzip"),
        pytest.param(zipfile.ZIP_STORED, NODE_YAML[:-3] + b"xyz", id="wrong-sum"),
    ],
)
def test_a_zip_that_is_corrupt_or_unusual(method: int, content: bytes) -> None:
    Path("s.zip").write_bytes(zip_of(method, content))
    with pytest.raises(SnapshotError, match=r"s\.zip:nodes\.yaml: is (a broken archive|truncated)"):
        load_snapshot(["s.zip"])
    Path("s.zip").write_bytes(zip_of(method, content, flags=0x20))
    with pytest.raises(SnapshotError, match=r"s\.zip"):
        load_snapshot(["s.zip"])


def test_a_name_of_a_megabyte_is_shortened() -> None:
    name = "x" * 1_000_000
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": 5}}
    for text in (json.dumps(pod), f"a: !!int {name}\n", f"apiVersion: v1\nkind: {name}\n", f'{{"kind": "{name}"}}'):
        Path("s").write_text(text)
        with pytest.raises(SnapshotError) as raised:
            list(SnapshotReader(["s"]))
        assert len(str(raised.value)) < 3500, str(raised.value)[:5000]


def test_numbers_of_thousands_of_digits_elsewhere() -> None:
    assert choose_release("", f"v1.{LONG}.0", ()).release
    assert choose_release("", "", [f"v1.35.{LONG}"]).release
    assert parse_int64(LONG) is None
    assert parse_int64("0" * 5000 + "7") == 7
    for path in (f".items[{LONG}]", f".items[1:{LONG}]", LONG):
        with pytest.raises(InputError):
            walk(parse_steps(path), [{"items": [1]}])


CHECKED_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
UNKNOWN = CHECKED_POD + "  nodeSelectors:\n    a: b\n"
TWICE = CHECKED_POD + "  nodeName: a\n  nodeName: b\n"
LIST = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
    "- " + text.replace("\n", "\n  ").rstrip() + "\n" for text in (CHECKED_POD, UNKNOWN, TWICE)
)


def told(finding: Finding) -> tuple[str, str]:
    return finding.problem, str(finding.position or "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(UNKNOWN, [('unknown field "spec.nodeSelectors"', "line 5, column 3")], id="unknown"),
        pytest.param(TWICE, [('duplicate field "spec.nodeName"', "line 6, column 3")], id="twice"),
        pytest.param(
            '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},\n'
            ' "spec": {"nodeName": "a", "nodeName": "b"}}',
            [('duplicate field "spec.nodeName"', "line 2, column 28")],
            id="twice in JSON",
        ),
        pytest.param(
            LIST,
            [
                ('unknown field "spec.nodeSelectors"', "line 12, column 5"),
                ('duplicate field "spec.nodeName"', "line 19, column 5"),
            ],
            id="in a list",
        ),
        pytest.param(
            f"{CHECKED_POD}---\n{UNKNOWN}", [('unknown field "spec.nodeSelectors"', "line 10, column 3")], id="second"
        ),
        pytest.param(
            "apiVersion: example.com/v1\nkind: Pod\nmetadata: {name: a}\na: 1\na: 2\n", [], id="a custom resource"
        ),
    ],
)
def test_fields_are_refused_told_or_let_pass(tmp_path: Path, text: str, expected: list[tuple[str, str]]) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_text(text)

    def warned(validation: Validation) -> list[tuple[str, str]]:
        manifest = read_manifest(file, allow_others=True, validation=validation)
        return [told(warning) for warning in manifest.warnings]

    assert warned(Validation.IGNORE) == []
    assert warned(Validation.WARN) == expected
    if expected:
        with pytest.raises(ManifestError) as refused:
            read_manifest(file)
        words = [(f"strict decoding error: {problem}", at) for problem, at in expected]
        assert [told(finding) for finding in refused.value.findings] == words
        assert len(list(SnapshotReader([file]))) == text.count("name: a") + text.count('"name": "a"')


def test_the_manifest_of_a_pod_as_data() -> None:
    with pytest.raises(ManifestError, match=r'unknown field "spec\.nodeSelectors"'):
        pod_of({"metadata": {"name": "a"}, "spec": {"nodeSelectors": {}}})


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("strict", "strict"),
        ("true", "strict"),
        ("1", "strict"),
        ("warn", "warn"),
        ("ignore", "ignore"),
        ("False", "ignore"),
    ],
)
def test_the_words_of_the_option(text: str, meant: str) -> None:
    assert Validation.of(text) == meant


@pytest.mark.parametrize("text", ["", "Strict", "no"])
def test_other_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be one of: strict \(or true\), warn, ignore \(or false\)"):
        Validation.of(text)


def test_a_manifest_that_cannot_be_checked_is_refused(tmp_path: Path) -> None:
    # No field that scheduling reads is broken, so that decoding alone would pass over it.
    file = tmp_path / "manifest.json"
    file.write_bytes(b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "x": "\xf2z"}')
    with pytest.raises(ManifestError, match="holds text that is not UTF-8"):
        read_manifest(file)

"""Archives of other programs are read as they are: kinds that only the path tells, lists without kind, broken files."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedctl.common.errors import SnapshotError
from kschedctl.objects.kinds import kind_by_name
from kschedctl.sources.snapshot.load import SnapshotReader, load_snapshot
from kschedctl.sources.snapshot.path_kinds import kind_of_path, typed_by_path

pytestmark = pytest.mark.usefixtures("folder")

NODE: dict[str, Any] = {"metadata": {"name": "node-1"}, "status": {"allocatable": {"cpu": "1", "pods": "10"}}}
POD: dict[str, Any] = {"metadata": {"name": "web-0", "namespace": "shop"}, "spec": {"nodeName": "node-1"}}
WHOLE_NODE = {"apiVersion": "v1", "kind": "Node", **NODE}
WHOLE_POD = {"apiVersion": "v1", "kind": "Pod", **POD}
IMAGE = f"quay-io-openshift-sha256-{'ab' * 32}"


def write(files: dict[str, Any]) -> None:
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.mark.parametrize(
    ("path", "name", "namespace", "kind"),
    [
        ("config/pod/shop/web-0.json", "web-0", "shop", "pod"),
        ("config/pod/shop/service.json", "service", "shop", "pod"),
        ("config/pod/node/web-0.json", "web-0", "node", "pod"),
        ("config/node/node.json", "node", "", "node"),
        ("nodes/pod.json", "pod", "", "node"),
        ("config/pdbs/shop/web.json", "web", "shop", "pdb"),
        ("config/storage/storageclasses/standard-csi.json", "standard-csi", "", "storageclass"),
        ("cluster-scoped-resources/storage.k8s.io/storageclasses/gp3.yaml", "gp3", "", "storageclass"),
        ("cluster-scoped-resources/core/persistentvolumes/pv-1.yaml", "pv-1", "", "pv"),
        (f"must-gather.local.1/{IMAGE}/namespaces/shop/pods/web-0/web-0.yaml", "web-0", "shop", "pod"),
        ("namespaces/shop/shop.yaml", "shop", "", "namespace"),
        ("namespaces/shop/apps/deployments.yaml", "", "shop", "deployment"),
        ("resources/pods/v1-preferredversion/namespaces/shop/web-0.json", "web-0", "shop", "pod"),
        ("cluster-resources/pods/shop.json", "", "shop", "pod"),
        ("cluster-resources/pod-disruption-budgets/shop.json", "", "shop", "pdb"),
        ("cluster-resources/limitranges/kube-public.json", "", "", "limitrange"),
        ("cluster-resources/storage-classes.json", "", "", "storageclass"),
        ("cluster-resources/pvs.json.gz", "", "", "pv"),
        ("Pods.yml", "", "", "pod"),
        # No kind, one of another group, an object of the cluster in the place of one of a namespace, and a log.
        ("config/version.json", "version", "", None),
        ("namespaces/shop/metrics.k8s.io/pods.yaml", "", "shop", None),
        ("cluster-scoped-resources/metrics.k8s.io/nodes/node-1.yaml", "node-1", "", None),
        ("config/node/web-0.json", "web-0", "shop", None),
        ("pods/a/b/c/d/e/f.json", "f", "", None),
    ],
)
def test_kinds_that_a_path_tells(path: str, name: str, namespace: str, kind: str | None) -> None:
    assert kind_of_path(path, name, namespace) is (None if kind is None else kind_by_name(kind))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(POD, ("v1", "Pod", None), id="object"),
        pytest.param([POD, POD], ("v1", "Pod", 2), id="list"),
        pytest.param({"metadata": {"resourceVersion": "1"}, "items": [POD]}, ("v1", "Pod", 1), id="items"),
        pytest.param({"items": None}, ("v1", "Pod", 0), id="no-items"),
        pytest.param([], ("v1", "Pod", 0), id="empty-list"),
        pytest.param([WHOLE_NODE, WHOLE_POD], ("", "", 2), id="list-with-kinds"),
        pytest.param(["pods is forbidden"], None, id="errors"),
        pytest.param([POD, {"verbs": ["get"]}], None, id="others-among-them"),
        pytest.param({"replicas": 2}, None, id="values"),
        pytest.param({"metadata": {}}, None, id="no-name"),
        pytest.param({"metadata": {"name": 5}}, None, id="name-of-another-type"),
        pytest.param("pods", None, id="text"),
    ],
)
@pytest.mark.parametrize("as_text", [True, False], ids=["text", "data"])
def test_documents_without_kind(value: Any, expected: tuple[str, str, int | None] | None, as_text: bool) -> None:
    typed = typed_by_path(json.dumps(value).encode() if as_text else value, "cluster-resources/pods/shop.json")
    read = typed and (typed.api_version, typed.kind, None if typed.items is None else len(typed.items))
    assert read == expected


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"config/node/node-1.json": NODE, "config/pod/shop/web-0.json": POD}, id="insights"),
        pytest.param(
            {
                f"must-gather.local.1/{IMAGE}/cluster-scoped-resources/core/nodes/node-1.yaml": yaml.dump(NODE),
                f"must-gather.local.1/{IMAGE}/namespaces/shop/core/pods.yaml": yaml.dump({"items": [POD]}),
                f"must-gather.local.1/{IMAGE}/namespaces/shop/pods/web-0/web-0.yaml": yaml.dump(POD),
                "must-gather.local.1/event-filter.html": "<html>",
            },
            id="must-gather",
        ),
        pytest.param(
            {
                "cluster-resources/nodes.json": [NODE],
                "cluster-resources/pods/shop.json": [POD],
                "cluster-resources/pods/default.json": {"items": None},
                "cluster-resources/groups.json": [{"name": "", "versions": []}],
            },
            id="support-bundle",
        ),
        pytest.param({"all.json": [WHOLE_NODE, WHOLE_POD]}, id="list"),
        pytest.param({"all.yaml": yaml.dump(WHOLE_NODE) + yaml.dump(WHOLE_POD)}, id="joined-without-separators"),
        pytest.param(
            {
                "dump.json": "\n".join(
                    (
                        json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [NODE]}, indent=4),
                        "==== START logs for container app of pod shop/web-0 ====",
                        '{"level": "info',
                        "==== END logs for container app of pod shop/web-0 ====",
                        json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [POD]}, indent=4),
                    )
                )
            },
            id="cluster-info-dump",
        ),
    ],
)
def test_archives_of_other_programs(files: dict[str, Any]) -> None:
    write({f"s/{name}": content for name, content in files.items()})
    snapshot = load_snapshot(["s"])
    assert snapshot.cluster.nodes.names == ("node-1",)
    assert snapshot.cluster.pods.index == {("shop", "web-0"): 0}
    assert (snapshot.cluster.unread, snapshot.cluster.warnings) == ((), ())


def test_a_file_that_is_named_is_read_by_its_own_name() -> None:
    write({"pods/nodes.json": [NODE], "pods/x.json": [NODE]})
    assert [type(obj).__name__ for obj, _ in SnapshotReader(["pods/nodes.json"])] == ["Node"]
    with pytest.raises(SnapshotError, match="a list of objects is written as kind: List with items"):
        list(SnapshotReader(["pods/x.json"]))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("pods.yaml", yaml.dump(WHOLE_POD) + "  x: [", id="yaml"),
        pytest.param("a.yaml", "kind: Role\napiVersion: rbac/v1\n---\n" + yaml.dump(WHOLE_POD) + "  x: [", id="later"),
        pytest.param("a.json", json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [POD]})[:-20], id="json"),
        pytest.param("a.jsonl", f'{{"kind": "Role"}}\n{json.dumps(WHOLE_POD)}'[:-3], id="json-lines"),
        pytest.param("cluster-resources/pods/shop.json", json.dumps([POD])[:-9], id="list-of-a-bundle"),
        pytest.param("config/pod/shop/web-0.json", json.dumps(POD)[:-9], id="kind-in-the-path"),
        pytest.param("nodes.json", "\0\1", id="binary"),
    ],
)
def test_broken_objects_are_refused_even_in_a_folder(name: str, content: str) -> None:
    write({"s/nodes.yaml": WHOLE_NODE, f"s/{name}": content})
    with pytest.raises(SnapshotError, match=f"s/{name}"):
        load_snapshot(["s"])


def test_the_version_in_a_support_bundle_is_that_of_the_control_plane() -> None:
    version = {"info": {"gitVersion": "v1.36.1"}, "string": "v1.36.1"}
    write({"s/nodes.json": [NODE], "s/cluster_version.json": version, "s/openapi.json": {"info": {"title": "an API"}}})
    assert load_snapshot(["s"]).summary.git_version == "v1.36.1"

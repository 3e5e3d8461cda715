import gzip
import io
import tarfile
from typing import Any

import pytest

from kschedctl.sources.snapshot.content_sniffing import HEAD, meant_kind, printed, seems_cluster, seems_object

POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"


def empty_tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("x"))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(POD, True, id="yaml"),
        pytest.param(b"# by hand\n\n---\n" + POD, True, id="yaml-after-comments"),
        pytest.param(b"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n", True, id="kubectl-get-o-yaml"),
        pytest.param(b'{"kind":"PodList","apiVersion":"v1","items":[', True, id="json"),
        pytest.param(b'[{"apiVersion": "v1", "kind": "pod"}]', True, id="json-array-small-letters"),
        pytest.param(b'{"pods":[{"metadata":{"name":"web"}}]}', True, id="export-of-the-simulator"),
        pytest.param(POD.decode().encode("utf-16"), True, id="utf-16"),
        pytest.param(gzip.compress(POD * 2000)[:HEAD], True, id="gzip-cut-off"),
        pytest.param(gzip.compress(empty_tar()), True, id="tar-in-gzip"),
        pytest.param(b"", False, id="empty"),
        pytest.param(b"==== START logs for container web\nkind: Pod\napiVersion: v1\n", False, id="log"),
        pytest.param(b'{"level":"info","kind":"Pod","msg":"reconciled"}\n', False, id="log-in-json"),
        pytest.param(
            b'{"kind":"Event","apiVersion":"audit.k8s.io/v1","requestObject":{"kind":"Pod"}}', False, id="audit-event"
        ),
        pytest.param(b"# Notes\n\nDo this:\n\n    kind: Pod\n    apiVersion: v1\n", False, id="markdown"),
        pytest.param(b"\x00\x05\x16\x07" + POD, False, id="binary"),
        pytest.param(gzip.compress(b"just text" * 100), False, id="gzip-of-text"),
        pytest.param(b"\x1f\x8b\x08\x00" + b"\xff" * 50, False, id="broken-gzip"),
        pytest.param(b"#" * HEAD, False, id="one-long-comment"),
        pytest.param((b" " * 40 + b"\n") * 400, False, id="blanks"),
    ],
)
def test_a_file_of_another_name_is_told_by_how_it_begins(head: bytes, expected: bool) -> None:
    assert seems_cluster(head[:HEAD]) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param([{"apiVersion": "v1", "kind": "Pod"}], True, id="array"),
        pytest.param({"metadata": {"name": "web"}, "spec": {}}, True, id="without-kind"),
        pytest.param({"kind": "pod", "metadata": {}}, True, id="without-version"),
        pytest.param({"items": [{"metadata": {"name": "web"}}]}, True, id="list-without-kind"),
        pytest.param([{"endpoint": "https://10.0.0.1:2379", "health": True}], False, id="health-of-etcd"),
        pytest.param({"replicas": 2, "image": {"tag": "1"}}, False, id="values-of-a-chart"),
        pytest.param({"apiVersion": "v2", "name": "web", "version": "1.0.0"}, False, id="chart"),
        pytest.param("text", False, id="text"),
        pytest.param(None, False, id="null"),
    ],
)
def test_a_value_that_was_meant_for_an_object(value: Any, expected: bool) -> None:
    assert seems_object(value) is expected


@pytest.mark.parametrize(
    ("api_version", "kind", "meant"),
    [
        ("v1", "pod", "Pod (v1)"),
        ("v1", "Pods", "Pod (v1)"),
        ("core/v1", "Pod", "Pod (v1)"),
        ("apps/v1", "deployment", "Deployment (apps/v1)"),
        ("extensions/v1beta1", "Deployment", "Deployment (apps/v1)"),
        ("v1", "podlist", "Pod (v1)"),
        ("storage.k8s.io/v1", "storageClass", "StorageClass (storage.k8s.io/v1)"),
        ("config.openshift.io/v1", "Node", ""),
        ("serving.knative.dev/v1", "Service", ""),
        ("v1", "ConfigMap", ""),
        ("metrics.k8s.io/v1beta1", "PodMetrics", ""),
    ],
)
def test_kinds_that_no_server_has(api_version: str, kind: str, meant: str) -> None:
    assert meant_kind(api_version, kind) == meant


TABLE, DESCRIPTION = "is a table that kubectl prints", "is what kubectl describe prints"
NAMES, MESSAGE = "has names alone, as kubectl prints them with -o name", "is a message of kubectl in place of objects"
FENCED = "has its YAML in a fenced block of Markdown"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("NAME    READY   STATUS\nweb-7   0/1     Pending\n", TABLE, id="get"),
        pytest.param("NAMESPACE   NAME   NODE   NOMINATED NODE\nshop   web-7   <none>   <none>\n", TABLE, id="wide"),
        pytest.param("NAME     STATUS   ROLES\r\nnode-1   Ready    <none>\r\n", TABLE, id="crlf"),
        pytest.param("NAME   CPU(cores)   CPU%\nnode-1   1   2\n", TABLE, id="top"),
        pytest.param("LAST SEEN   TYPE      REASON\n5m          Warning   FailedScheduling\n", TABLE, id="events"),
        pytest.param("POD NAME   NODE\nweb-7      <none>\n", TABLE, id="custom-columns"),
        pytest.param("NAME\nweb-7\n", TABLE, id="one-column"),
        pytest.param("shop   web-7   0/1   Pending   0   5m\n", TABLE, id="no-headers"),
        pytest.param("node-1   Ready,SchedulingDisabled   <none>   5d   v1.36.1\n", TABLE, id="nodes-without-headers"),
        pytest.param("Name:         web-7\nNamespace:    shop\n", DESCRIPTION, id="describe"),
        pytest.param("Name:\t\tnode-1\nRoles:\t\tworker\n", DESCRIPTION, id="describe-with-tabs"),
        pytest.param("pod/web-7\npod/web-8\n", NAMES, id="names"),
        pytest.param("deployment.apps/web\n", NAMES, id="name-with-a-group"),
        pytest.param('Error from server (NotFound): pods "x" not found\n', MESSAGE, id="error"),
        pytest.param("No resources found in shop namespace.\n", MESSAGE, id="nothing-found"),
        pytest.param("```yaml\nkind: Pod\n```\n", FENCED, id="fence"),
        pytest.param("The pod:\n\n~~~\napiVersion: v1\nkind: Pod\n~~~\nthanks\n", FENCED, id="fence-in-a-text"),
        pytest.param("apiVersion: v1\nkind: Pod\n", None, id="yaml"),
        pytest.param('{"NAME": 1}', None, id="json"),
        pytest.param("NAME=web\nZONE=a\n", None, id="variables"),
        pytest.param("Name: web\nVersion: 1\n", None, id="fields"),
        pytest.param("and/or something else\n", None, id="text"),
        pytest.param("", None, id="nothing"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_is_printed_for_people(text: str, problem: str | None, encoding: str) -> None:
    found = printed(text.encode(encoding), "f")
    assert (found and found.problem) == problem
    assert found is None or found.hint

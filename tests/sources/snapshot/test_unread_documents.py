"""Documents of kinds that are only counted are not parsed, and the result is that of parsing every document."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import InputError, SnapshotError
from kschedctl.objects.coordination import LEADER_ANNOTATION
from kschedctl.sources.snapshot.load import SnapshotReader
from kschedctl.sources.snapshot.objects import Reading
from kschedctl.sources.snapshot.summary import ReadSummary

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
status: {conditions: [{type: Ready, lastTransitionTime: "2026-05-05T00:00:00Z"}]}
"""
BROKEN = "broken: [\n"


def header(kind: str, api_version: str = "v1") -> str:
    return f"apiVersion: {api_version}\nkind: {kind}\n"


def read(*documents: str) -> ReadSummary:
    reader = SnapshotReader(["-"], stdin=io.BytesIO("---\n".join(documents).encode()))
    assert list(reader)
    return reader.summary


NOT_PARSED = {
    "a CRD": header("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
    "a Secret": header("Secret"),
    "a custom resource": header("Kafka", "kafka.strimzi.io/v1beta2"),
    "a ConfigMap": header("ConfigMap"),
    "Endpoints": header("Endpoints"),
    "an older time": header("Event") + "lastTimestamp: 2026-05-04T00:00:00Z\n",
    "an Event that is no Warning": header("Event") + "type: Normal\nmetadata: {name: a}\n",
    "another escape": header("Secret") + 'data: {a: "\\n"}\n',
}
PARSED = {
    "a kind that scheduling reads": header("Deployment", "apps/v1") + "metadata: {name: web}\n",
    "a kind that files alone have": header("PodMetrics", "metrics.k8s.io/v1beta1") + "metadata: {name: web}\n",
    "a list": header("List"),
    "a Warning": header("Event") + "type: Warning\nmetadata: {name: a}\n",
    "a kind that is evidence": header("NodePool", "karpenter.sh/v1") + "metadata: {name: a}\n",
    "a list of one kind": header("SecretList"),
    "a kind that is a typing error": header("Pod", "core/v1"),
    "a kind that stands for objects": header("Table", "meta.k8s.io/v1"),
    "a version": header("Info"),
    "a lock": header("ConfigMap") + f"metadata: {{annotations: {{{LEADER_ANNOTATION}: x}}}}\n",
    "a lock that an escape may hide": header("ConfigMap") + 'metadata: {annotations: {"control\\x2dplane": x}}\n',
    "the status of Cluster Autoscaler": header("ConfigMap") + "metadata: {name: cluster-autoscaler-status}\n",
    "a newer time": header("Event") + "lastTimestamp: 2026-05-06T00:00:00Z\n",
    "a time that an escape may hide": header("Event") + 'lastTimestamp: "\\x32026-05-06T00:00:00Z"\n',
    "a time that a break may hide": header("Event") + 'lastTimestamp: "2026-05-06\\\n  T00:00:00Z"\n',
    "a time that a tag may hide": header("Event") + "lastTimestamp: !!binary MjAyNi0wNS0wNlQwMDowMDowMFo=\n",
    "a template": header("Secret") + "data: {a: '{{ .Values.a }}'}\n",
    "a list that calls itself a Secret": header("Secret") + "items: []\n",
    "a kind below the first lines": "metadata: {name: a}\n" + header("Secret"),
}


@pytest.mark.parametrize("document", NOT_PARSED.values(), ids=NOT_PARSED)
def test_errors_in_documents_that_are_only_counted_are_not_found(document: str) -> None:
    assert read(POD, document + BROKEN).left_out.total() == 1


@pytest.mark.parametrize("document", PARSED.values(), ids=PARSED)
def test_errors_in_other_documents_are_found(document: str) -> None:
    with pytest.raises(SnapshotError):
        read(POD, document + BROKEN)


class WholeReading(Reading):
    """A reading that parses every document."""

    def _is_unread(self, api_version: str, kind: str, text: bytes) -> bool:
        return False


def result(of: type[Reading], text: str) -> tuple[list[Any], ReadSummary] | None:
    summary = ReadSummary()
    try:
        return list(of(["-"], io.BytesIO(text.encode()), summary).objects()), summary
    except InputError:
        return None


KINDS = [
    *(header(kind) for kind in ("Secret", "ConfigMap", "Endpoints", "Event", "Pod", "pod", "Info", "Status", "List")),
    header("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
    header("Deployment", "apps/v1"),
    header("Pod", "core/v1"),
    header("Table", "meta.k8s.io/v1"),
    "apiVersion: v1\nmetadata: {name: last}\nkind: Secret\n",
    "kind: Secret\n",
    "{apiVersion: v1, kind: Pod, metadata: {name: flow}}\n",
]
ENTRIES = [
    "metadata: {name: a}",
    "metadata: &m\n  name: b\n  annotations:\n    control-plane.alpha.kubernetes.io/leader: '{}'",
    'metadata: {name: c, annotations: {"control-plane.alpha.kubernetes.io\\/leader": "{}"}}',
    *(
        f"{key}: {time}"
        for key in ("lastTimestamp", "other")
        for time in ("2026-05-06T00:00:00Z", "2024-01-01T00:00:00Z")
    ),
    'eventTime: "2027-05-06T00\\x3a00:00Z"',
    "eventTime: !!binary MjAyNy0wNS0wNlQwMDowMDowMFo=",
    "eventTime: |-\n  2028-05-06T00:00:00Z",
    "kind: Pod",
    '"kind": Pod',
    "items: []",
    "<<: {kind: Pod}",
    "gitVersion: v1.36.0",
    "status: Failure",
    "data: {a: '{{ b }}'}",
    'data: "a\nkind: Pod"',
    "...",
    "# a comment\r",
]
DOCUMENTS = st.tuples(st.sampled_from(KINDS), st.lists(st.sampled_from(ENTRIES), max_size=4)).map(
    lambda parts: parts[0] + "".join(f"{entry}\n" for entry in parts[1])
)


@given(st.lists(DOCUMENTS, max_size=5))
def test_the_result_is_that_of_parsing_every_document(documents: list[str]) -> None:
    """If all documents are valid, objects, counts, newest time and skipped documents are equal."""
    text = "---\n".join([POD, *documents])
    whole = result(WholeReading, text)
    assert whole is None or result(Reading, text) == whole

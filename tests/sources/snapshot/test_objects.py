"""Objects that are shortened for the way between processes, and kinds that no decision depends on."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from kschedctl.common.errors import SnapshotError
from kschedctl.common.text import yaml
from kschedctl.common.text import yaml as yaml_parts
from kschedctl.objects.kinds import CAPTURED_KINDS, evidence_type, kind_type
from kschedctl.sources.snapshot.decoding import decode
from kschedctl.sources.snapshot.documents import any_documents, read_envelope
from kschedctl.sources.snapshot.load import SnapshotReader
from kschedctl.sources.snapshot.objects import Reading, shortened
from kschedctl.sources.snapshot.original_objects import OriginalObjects
from kschedctl.sources.snapshot.summary import ReadSummary

POD = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}'
TYPE = CAPTURED_KINDS["", "Pod"]


def test_no_kind_has_a_time() -> None:
    assert not [kind for kind in CAPTURED_KINDS.values() if "time" in kind.__struct_encode_fields__]


KEPT = {
    "nothing to leave out": (POD + "}", b""),
    "fields that nothing reads": (POD + ',"spec":{"dnsPolicy":"Default"},"status":{"podIP":"10.0.0.1"}}', b""),
    "a time in a field that nothing reads": (
        POD[:-1] + ',"managedFields":[{"time":"2026-05-04T01:02:03Z"}]}}',
        b"2026-05-04T01:02:03",
    ),
    "the newest of several times": (
        POD + ',"status":{"conditions":[{"type":"Ready","lastTransitionTime":"2026-05-04T01:02:03Z"},'
        '{"type":"Other","lastProbeTime":"2026-05-05T01:02:03.5Z"}]}}',
        b"2026-05-05T01:02:03",
    ),
    "amounts and durations": (
        POD
        + ',"spec":{"nodeName":"a","containers":[{"name":"app","resources":{"requests":{"cpu":1.5,"memory":"1Gi"}}}],'
        '"tolerations":[{"key":"a","tolerationSeconds":300}],"terminationGracePeriodSeconds":0,"priority":-5}}',
        b"",
    ),
    "times to the microsecond": (POD[:-1] + ',"creationTimestamp":"2026-05-04T01:02:03.123456789+02:00"}}', b""),
}


@pytest.mark.parametrize(("text", "newest"), KEPT.values(), ids=KEPT)
def test_a_shortened_object_is_read_as_the_same(text: str, newest: bytes) -> None:
    before, after = ReadSummary(), ReadSummary()
    short = shortened(text.encode(), before)
    assert short is not None
    assert decode(short, TYPE) == decode(text.encode(), TYPE)
    after.note_times(short)
    assert before.newest == after.newest == newest


def test_objects_of_real_clusters_are_read_as_the_same() -> None:
    kinds: set[str] = set()
    for path in sorted(Path("fixtures").rglob("cluster*/**/*.yaml")) + sorted(Path("fixtures").rglob("cluster*.yaml")):
        for document in any_documents(path.read_bytes(), str(path)):
            for value in document.envelope.items or [document.value]:
                text = bytes(value)
                if (short := shortened(text, ReadSummary())) is not None:
                    kind = read_envelope(text).kind or ""
                    api_version = read_envelope(text).api_version or ""
                    type_ = kind_type(api_version, kind) or evidence_type(api_version, kind)
                    assert type_ is not None
                    assert decode(short, type_) == decode(text, type_)
                    kinds.add(kind)
    assert kinds >= {"Pod", "Node", "Deployment"}


NOT_SHORTENED = {
    "another kind": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}',
    "a list": '{"apiVersion":"v1","kind":"PodList","items":[]}',
    "a list that calls itself a Pod": POD + ',"items":[]}',
    "no kind": '{"metadata":{"name":"a"}}',
    "an error": POD + ',"spec":[]}',
    "no name": '{"apiVersion":"v1","kind":"Pod","metadata":{}}',
    "a template": '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"{{ .Name }}"}}',
    "a kind below": '{"metadata":{"name":"a"},"apiVersion":"v1","kind":"Pod"}',
}


@pytest.mark.parametrize("text", NOT_SHORTENED.values(), ids=NOT_SHORTENED)
def test_what_reading_may_report_stays_whole_and_has_no_times_yet(text: str) -> None:
    summary = ReadSummary()
    assert shortened(text[:-1].encode() + b',"time":"2026-05-04T01:02:03Z"}', summary) is None
    assert summary.newest == b""


def item(kind: str, name: str, rest: str = "") -> str:
    return f"- apiVersion: v1\n  kind: {kind}\n  metadata:\n    name: {name}\n{rest}"


CONDITION = "  status:\n    conditions:\n    - type: Ready\n      lastTransitionTime: '2026-05-0{}T00:00:00Z'\n"
PODS = "".join(item("Pod", f"web-{n}", CONDITION.format(n % 9 + 1)) for n in range(12))
SHORTENING_NODE = item("Node", "a")
DOCUMENTS = [
    each[2:].replace("\n  ", "\n")
    for each in (SHORTENING_NODE, *(item("Pod", f"web-{n}", CONDITION.format(9 - n)) for n in range(9)))
]
OWN = "apiVersion: v1\n{}\nitems:\n{}"
FILES = {
    "what kubectl writes": OWN.format("", SHORTENING_NODE + PODS) + "kind: List\nmetadata:\n  resourceVersion: ''\n",
    "the kind first": OWN.format("kind: List", SHORTENING_NODE + PODS),
    "a list of one kind": OWN.format(
        "kind: PodList", PODS.replace("  kind: Pod\n", "").replace("- apiVersion: v1\n ", "-")
    ),
    "a list of one kind with kinds": OWN.format("", PODS) + "kind: PodList\n",
    "another kind in a list of one kind": OWN.format("", SHORTENING_NODE + PODS) + "kind: NodeList\n",
    "other kinds": OWN.format("", PODS + item("ConfigMap", "a", "  time: '2027-01-01T00:00:00Z'\n") + PODS)
    + "kind: List\n",
    "documents": "---\n".join(DOCUMENTS),
    "documents and lists": OWN.format("kind: List", PODS) + "---\n" + OWN.format("kind: List", SHORTENING_NODE + PODS),
    "a document that is only counted": OWN.format("kind: List", PODS)
    + "---\napiVersion: v1\nkind: Secret\ntime: '2026-05-02T00:00:00Z'\nbroken: [\n",
    "an invalid object": OWN.format("kind: List", PODS + item("Pod", "b", "  spec: []\n") + PODS),
    "many invalid objects": OWN.format("kind: List", 20 * item("Pod", "'{{ a }}'")),
    "an item that is no object": OWN.format("kind: List", PODS + "- a\n- apiVersion: v1\n" + PODS),
    "broken YAML": OWN.format("kind: List", PODS + "- a: [\n"),
    "an object of another program": "a: 1\nitems:\n" + PODS,
    "items of an object that is only counted": "apiVersion: a.example/v1\nitems:\n"
    + PODS
    + "kind: Own\n---\n"
    + DOCUMENTS[0],
}


#: The files that one process reads.
WHOLE = {
    "a list of one kind with kinds",
    "another kind in a list of one kind",
    "items of an object that is only counted",
    "an object of another program",
    "broken YAML",
}


def outcome(path: Path, written: OriginalObjects | None = None) -> Any:
    summary = ReadSummary()
    try:
        found = list(Reading([path], None, summary, written=written).objects())
    except SnapshotError as error:
        return str(error)
    return found, summary


@pytest.fixture
def by_processes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Make processes read even small texts; return a list that receives whether they have."""
    read: list[bool] = []
    read_documents = yaml_parts.documents_by_processes

    def forced(*args: Any) -> Any:
        documents = read_documents(*args, jobs=2, part_size=100)
        read.append(documents is not None)
        return documents

    monkeypatch.setattr(yaml_parts, "documents_by_processes", forced)
    return read


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_the_same_by_processes(
    name: str, tmp_path: Path, by_processes: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(FILES[name])
    whole = outcome(path)
    monkeypatch.setattr(yaml, "LARGE", 1)
    assert outcome(path) == whole
    assert by_processes == [name not in WHOLE]


def test_original_objects_stay_whole(tmp_path: Path, by_processes: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(FILES["what kubectl writes"].replace("    name:", "    unread: 1\n    name:"))
    monkeypatch.setattr(yaml, "LARGE", 1)
    originals = OriginalObjects()
    found, _ = outcome(path, originals)
    assert by_processes == [True]
    assert all(originals.of(obj)["metadata"]["unread"] == 1 for obj, _ in found if obj.name.startswith("web"))


@pytest.mark.parametrize(
    ("document", "read_as", "left_out"),
    [
        (
            {"apiVersion": "v1", "kind": "Event", "type": "Warning", "involvedObject": {"kind": "Pod", "name": "a"}},
            "Event x",
            {},
        ),
        (
            {"apiVersion": "events.k8s.io/v1", "kind": "Event", "type": "Warning", "regarding": {"kind": "Node"}},
            "Event x",
            {},
        ),
        ({"apiVersion": "v1", "kind": "Event", "type": "Normal"}, "", {"Event": 1}),
        # A word of the message is no type.
        ({"apiVersion": "v1", "kind": "Event", "type": "Normal", "message": "Warning"}, "", {"Event": 1}),
        ({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload"}, "KueueWorkload x", {}),
        ({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload"}, "Workload x", {}),
        # Fields that a project has changed are no error, since no decision depends on them.
        (
            {"apiVersion": "karpenter.sh/v2", "kind": "NodePool", "spec": {"limits": ["all"]}},
            "",
            {"NodePool.karpenter.sh": 1},
        ),
        ({"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim"}, "NodeClaim x", {}),
    ],
)
def test_objects_that_are_evidence(document: dict[str, Any], read_as: str, left_out: dict[str, int]) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    items = [node, {**document, "metadata": {"name": "x"}}]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    reader = SnapshotReader(["-"], stdin=BytesIO(text.encode()))
    found = [f"{type(obj).__name__} {obj.name}" for obj, _ in reader if obj.name != "n"]
    assert (found, dict(reader.summary.left_out)) == ([read_as] if read_as else [], left_out)

"""Inputs that several processes read: the same snapshots, warnings and errors as when one process reads them."""

import gzip
import json
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common import processes
from kschedctl.common.errors import SnapshotError
from kschedctl.sources.snapshot import files, load, objects, parallel_reading
from kschedctl.sources.snapshot.list_stream import ListPieces, NotStreamableError, stream_list
from kschedctl.sources.snapshot.objects import Reading
from kschedctl.sources.snapshot.original_objects import OriginalObjects
from kschedctl.sources.snapshot.parallel_reading import ParallelReading
from kschedctl.sources.snapshot.summary import ReadSummary
from tests.sources.snapshot.test_cache import content
from tests.sources.snapshot.test_list_stream import lists

Object: TypeAlias = dict[str, Any]

#: The number of bytes of a piece of a list, or of some documents, here.
SMALL = 3000


def named(kind: str, name: str, namespace: str = "shop", api_version: str = "v1", **rest: Any) -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def node(number: int) -> Object:
    return named("Node", f"node-{number}", "", status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}})


def pod(number: int, cpu: str = "100m", phase: str = "Running", **rest: Any) -> Object:
    container = {"name": "app", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}
    spec = {"nodeName": f"node-{number % 7}", "containers": [container], "priority": number % 3}
    status = {"phase": phase, "startTime": f"2026-05-04T01:{number % 60:02}:00Z"}
    out = named("Pod", f"web-{number}", **{"spec": spec, "status": status, **rest})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"web-{number % 5}", "uid": "1", "controller": True}
    out["metadata"] |= {"labels": {"app": f"web-{number % 5}"}, "ownerReferences": [owner], "uid": str(number)}
    return out


def event(about: str, number: int) -> Object:
    involved = {"kind": "Pod", "namespace": "shop", "name": about}
    time = f"2026-05-04T02:{number % 60:02}:00Z"
    return {
        "apiVersion": "v1",
        "count": number,
        "involvedObject": involved,
        "kind": "Event",
        "lastTimestamp": time,
        "message": f"no {number}",
        "metadata": {"name": f"{about}.{number}", "namespace": "shop"},
        "reason": "FailedScheduling",
        "type": "Warning",
    }


PENDING = pod(900, status={"phase": "Pending"}, spec={"containers": [{"name": "app"}]})
LATE = pod(901, status={"phase": "Pending"}, spec={"containers": [{"name": "app"}]})
NODES = [node(number) for number in range(7)]
PODS = [pod(number, cpu=f"{number % 4 + 1}00m") for number in range(250)]
POOL = named("NodePool", "default", "", "karpenter.sh/v1", spec={"limits": ["all"]})
TABLE = {"apiVersion": "meta.k8s.io/v1", "kind": "Table", "metadata": {}, "columnDefinitions": []}
HEADER = {"kschedctlVersion": "0.1.0", "capturedAt": "2026-06-01T00:00:00Z", "kinds": {"Pod": 251}}
CUT = {"text": '},{"apiVersion": "v1", "kind": "Pod", "x": {'}

#: Objects, in the order of an input.
INPUTS: dict[str, list[Any]] = {
    "nodes and pods": [*NODES, *PODS],
    "many kinds": [
        named("Namespace", "shop", ""),
        *NODES,
        *PODS,
        named("Deployment", "web", api_version="apps/v1", spec={"selector": {"matchLabels": {"app": "web-1"}}}),
        named("ConfigMap", "settings", data={"a": "b"}),
        named("PersistentVolumeClaim", "data", spec={"resources": {"requests": {"storage": "1Gi"}}}),
        *PODS[:40],
    ],
    "copies that differ": [
        *NODES,
        *PODS,
        node(3) | {"spec": {"unschedulable": True}},
        pod(3, "7"),
        *PODS[5:90],
        pod(9),
    ],
    "pods that have ended": [*NODES, *PODS, pod(4, phase="Succeeded"), *PODS[:9], pod(5, phase="Failed"), *PODS[40:]],
    "pods without a namespace": [*NODES, *(named("Pod", f"bare-{number}", "") for number in range(99)), *PODS],
    "events of pods before and after them": [
        *NODES,
        *(event("web-901", number) for number in range(9)),
        *PODS[:120],
        *(event("web-900", number) for number in range(60)),
        *(event("web-901", number) for number in range(60)),
        PENDING,
        *PODS[120:],
        LATE,
        *(event("web-901", number) for number in range(60, 90)),
        *(event("web-1", number) for number in range(60)),
    ],
    "evidence with other fields": [*NODES, *PODS, POOL, *PODS[:9], POOL],
    "carriers of objects": [*NODES, *PODS[:200], TABLE, *PODS[200:], TABLE],
    "a list inside": [*NODES, *PODS, {"apiVersion": "v1", "kind": "List", "items": PODS[:20]}, *PODS],
    "texts that look like an end": [*NODES, *(pod(number) | {"x": [CUT] * 9} for number in range(99))],
    "a long object": [*NODES, *PODS[:99], named("ConfigMap", "long", data={"a": "x" * 20_000}), *PODS[99:]],
    "an amount that is wrong": [*NODES, *PODS, pod(251, "much"), *PODS[:30]],
    "an amount of a node that is wrong": [*NODES, *PODS, named("Node", "x", "", status={"allocatable": {"cpu": "x"}})],
    "a namespace that is wrong": [*NODES, *PODS, named("Pod", "a", "a/b")],
    "many errors": [*NODES, *PODS[:99], *(named("Pod", f"x-{n}", spec=[]) for n in range(30)), *PODS[99:]],
    "a few errors": [*NODES, *PODS[:99], named("Pod", "x", spec=[]), *PODS[99:], named("Pod", "", spec={})],
    "an item that is no object": [*NODES, *PODS, {"apiVersion": "v1"}, 7, *PODS[:9]],
}

#: Documents that a list does not have.
DOCUMENTS: dict[str, list[Any]] = {
    **INPUTS,
    "a header": [*NODES, *PODS, HEADER, *PODS[:50]],
    "a version": [*NODES, *PODS, {"serverVersion": {"gitVersion": "v1.36.1"}}, *PODS[:50]],
    "lists of one kind": [
        {"apiVersion": "v1", "kind": f"{kind}List", "items": items}
        for kind, items in (("Node", NODES), *(("Pod", PODS[n : n + 5]) for n in range(0, 250, 5)))
    ],
    "nothing that is read": [named("ConfigMap", f"a-{number}") for number in range(200)],
}


def outcome(path: Path, jobs: int, written: OriginalObjects | None = None) -> Any:
    """Return all that reading gives, or its error, and the number of parts of the input that were not read in place."""
    summary = ReadSummary()
    reading = ParallelReading([path], None, summary, written=written)
    reading.jobs = jobs
    try:
        snapshot = load._snapshot_of(reading.objects(), summary, (str(path),))
    except SnapshotError as error:
        return error.findings
    cluster = snapshot.cluster
    # The order is part of the result, too.
    order = json.dumps([summary.files, summary.left_out, summary.layouts, summary.n_of_kind, summary.left_out_of])
    events = [(name, obj) for kind in cluster.kinds for name, obj in enumerate(cluster.list(kind))]
    return content(snapshot), summary, order, events, reading.parts


@pytest.fixture
def n_parts(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Read small inputs in parts, in this process; return a list that receives whether each part could be used."""
    usable: list[bool] = []

    def answers(answer: Callable[[int], Any], n_numbers: int, jobs: int, *, only_safely: bool) -> Iterator[Any]:
        for number in range(1, n_numbers + 1):
            part = answer(number)
            usable.append(part is not None)
            yield part

    monkeypatch.setattr(parallel_reading, "answers_in_order", answers)
    small_parts(monkeypatch)
    return usable


def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "stream_list", partial(stream_list, piece_size=SMALL))
    monkeypatch.setattr(parallel_reading, "ListPieces", partial(ListPieces, piece_size=SMALL))
    monkeypatch.setattr(parallel_reading, "PART", SMALL)
    monkeypatch.setattr(parallel_reading, "LARGE_DOCUMENTS", SMALL)
    monkeypatch.setattr(parallel_reading, "WORTH", 0)


def write_list(path: Path, items: list[Any], kind: str = "List", indent: int | None = 1) -> Path:
    path.write_text(json.dumps({"apiVersion": "v1", "items": items, "kind": kind}, indent=indent))
    return path


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize("name", INPUTS)
def test_a_list_is_read_the_same(
    name: str, indent: int | None, folder: Path, n_parts: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 1)
    path = write_list(Path("all.json"), INPUTS[name], indent=indent)
    assert outcome(path, 2) == outcome(path, 1)
    # The first piece has more than 64 KiB; of a list with a problem in it, no other is read in parts.
    assert len(n_parts) > 1 or "errors" in name


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text[:-40], id="cut off"),
        pytest.param(lambda text: text.replace('"web-200"', "'web-200'", 1), id="broken"),
        pytest.param(lambda text: text[:-1] + ', "items": []}', id="twice"),
        pytest.param(lambda text: text + NODES_AS_YAML, id="another document"),
    ],
)
def test_a_broken_list_has_the_same_error(
    change: Callable[[str], str], folder: Path, n_parts: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 1)
    path = write_list(Path("all.json"), INPUTS["many kinds"])
    path.write_text(change(path.read_text()))
    assert outcome(path, 2) == outcome(path, 1)
    assert sum(n_parts) > 3


NODES_AS_YAML = "\n---\napiVersion: v1\nkind: Node\nmetadata:\n  name: last\n"


@pytest.mark.parametrize("suffix", ["jsonl", "yaml"])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_read_the_same(
    name: str, indent: int | None, suffix: str, folder: Path, n_parts: list[bool]
) -> None:
    path = Path(f"all.{suffix}")
    path.write_text("\n".join(json.dumps(document, indent=indent) for document in DOCUMENTS[name]))
    assert outcome(path, 2) == outcome(path, 1)
    assert sum(n_parts) > 3


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text + NODES_AS_YAML, id="YAML after JSON"),
        pytest.param(lambda text: text.replace('"web-200"', "'web-200'", 1), id="YAML in JSON"),
        pytest.param(lambda text: text + "{a: 1}\n", id="YAML of its own"),
        pytest.param(lambda text: text[:-9], id="cut off"),
        pytest.param(lambda text: text.replace(', "spec"', ',\n{"spec"', 1), id="a brace that begins no document"),
        pytest.param(lambda text: "\ufeff" + text, id="a byte order mark"),
        pytest.param(lambda text: text.replace("web-150", "\0", 1), id="a zero"),
    ],
)
def test_other_documents_are_read_the_same(change: Callable[[str], str], folder: Path, n_parts: list[bool]) -> None:
    path = Path("all.json")
    path.write_text(change("".join(json.dumps(document) + "\n" for document in DOCUMENTS["many kinds"])))
    assert outcome(path, 2) == outcome(path, 1)


def test_text_that_is_not_utf8_is_the_same_error(folder: Path, n_parts: list[bool]) -> None:
    path = Path("all.json")
    text = "".join(json.dumps(document) + "\n" for document in DOCUMENTS["many kinds"])
    path.write_bytes(text.encode().replace(b'"web-200"', b'"web-\xff"'))
    assert outcome(path, 2) == outcome(path, 1)


def write_folder(documents: list[Any]) -> Path:
    """Write a folder of JSON and YAML files, some of which are foreign, and return it."""
    root = Path("dump")
    for number, document in enumerate(documents):
        path = root / f"{number // 50}" / f"{number:04}.{('json', 'yaml')[number % 2]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        # JSON is YAML, too.
        path.write_text(json.dumps(document, indent=1))
    return root


def write_form(form: str, items: list[dict[str, Any]]) -> Path:
    """Write objects as a list, as documents, or as a folder of files, and return its path."""
    path = Path("all.json")
    if form == "folder":
        return write_folder(items)
    if form == "list":
        write_list(path, items, indent=4)
    else:
        path.write_text("".join(json.dumps(each) + "\n" for each in items))
    return path


OTHERS = {
    "1/0060-broken.yaml": "a: [\n",
    "1/0061-notes.txt": "apiVersion: v1\nkind: Pod\n",
    "1/0062-empty.json": "",
    "1/.hidden/pod.yaml": "apiVersion: v1\nkind: Pod\n",
    "2/0110-values.yaml": "a: 1\n",
    "2/0111-nodes.txt": "NAME STATUS\n",
    "2/0112-table.json": json.dumps(TABLE),
    "3/0160-several.yaml": "---\n".join(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: n-{n}}}\n" for n in range(4)),
    "4/0200-pods/items.json": json.dumps([{"metadata": {"name": "x", "namespace": "y"}}]),
    "4/0201-log.yaml": "2026-05-04 no object\n",
}


@pytest.mark.parametrize("with_others", [False, True])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_folder_is_read_the_same(name: str, with_others: bool, folder: Path, n_parts: list[bool]) -> None:
    root = write_folder(DOCUMENTS[name])
    if with_others:
        for path, text in OTHERS.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        (root / "1" / "0062.yaml.gz").write_bytes(gzip.compress(NODES_AS_YAML.encode()))
        # A name that does not tell that the file is packed.
        (root / "1" / "0064-packed.yaml").write_bytes(gzip.compress(NODES_AS_YAML.encode()))
        (root / "1" / "0066-linked.yaml").symlink_to("0051.yaml")
    assert outcome(root, 2) == outcome(root, 1)
    assert sum(n_parts) > 3


def test_several_clusters_are_the_same_error(folder: Path, n_parts: list[bool]) -> None:
    for cluster in ("eu", "us"):
        write_folder([*NODES, *PODS]).rename(cluster)
    for jobs in (1, 2):
        assert "2 clusters: eu and us" in outcome(Path(), jobs)[0].problem
    assert sum(n_parts) > 3


def test_a_large_file_between_small_ones_keeps_its_place(
    folder: Path, n_parts: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_folder([*NODES, *PODS])
    write_list(root / "2" / "0100-large.json", PODS[:200])
    monkeypatch.setattr(parallel_reading, "LARGE_YAML", 5000)
    assert outcome(root, 2) == outcome(root, 1)
    monkeypatch.setattr(files, "LARGE", 10_000)
    assert outcome(root, 2) == outcome(root, 1)


def test_a_file_that_disappears_is_an_error(folder: Path, n_parts: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_folder([*NODES, *PODS])
    found = files.read_sources

    def without(*arguments: Any, **options: Any) -> Iterator[Any]:
        yield from list(found(*arguments, **options))
        (root / "1" / "0060.json").unlink(missing_ok=True)

    monkeypatch.setattr(parallel_reading, "read_sources", without)
    [problem] = outcome(root, 2)
    assert (problem.problem, problem.place) == ("there is no such file or folder", "dump/1/0060.json")


def test_originals_are_recorded_by_one_process(folder: Path, n_parts: list[bool]) -> None:
    root = write_folder([*NODES, *PODS])
    outcome(root, 2, OriginalObjects())
    assert n_parts == []


def test_small_inputs_are_read_by_one_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a process for a small input")

    monkeypatch.setattr(parallel_reading, "answers_in_order", refuse)
    root = write_folder([*NODES, *PODS])
    write_list(Path("all.json"), [*NODES, *PODS])
    Path("all.jsonl").write_text("".join(json.dumps(each) + "\n" for each in PODS))
    for path in (root, Path("all.json"), Path("all.jsonl")):
        assert outcome(path, 2) == outcome(path, 1)


@pytest.mark.parametrize("jobs", [2, 5])
@pytest.mark.parametrize("form", ["list", "documents", "folder"])
def test_processes_read_the_parts(form: str, jobs: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGE", 100_000)
    small_parts(monkeypatch)
    items = INPUTS["many kinds"]
    path = write_form(form, items)
    pids: list[int] = []
    started = processes.WorkerProcess.__init__

    def start(self: Any, *arguments: Any) -> None:
        started(self, *arguments)
        pids.append(self._process.pid)

    monkeypatch.setattr(processes.WorkerProcess, "__init__", start)
    assert outcome(path, jobs) == outcome(path, 1)
    assert len(pids) == jobs
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize("form", ["list", "documents", "folder"])
def test_a_process_that_dies_leaves_the_rest_to_this_one(
    form: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 100_000)
    small_parts(monkeypatch)
    items = INPUTS["many kinds"]
    path = write_form(form, items)
    expected, parent, object_of = outcome(path, 1), os.getpid(), Reading._object

    def die(self: Reading, value: Any, *arguments: Any) -> Any:
        if os.getpid() != parent and b'"web-120"' in bytes(value):
            os.kill(os.getpid(), signal.SIGKILL)
        return object_of(self, value, *arguments)

    monkeypatch.setattr(Reading, "_object", die)
    assert outcome(path, 2) == expected


@given(lists(), st.sampled_from((None, 1)), st.sampled_from((1000, 5000, 70_000)))
def test_the_pieces_of_a_list_are_those_of_the_stream(
    tmp_path_factory: pytest.TempPathFactory, items: list[Any], indent: int | None, size: int
) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=indent).encode()
    whole = [[bytes(item) for item in piece.items] for piece in stream_list(BytesIO(text), size)]
    path = tmp_path_factory.mktemp("list") / "all.json"
    path.write_bytes(text)
    with path.open("rb") as stream:
        pieces = ListPieces(stream, size)
        found: list[list[bytes]] = []
        for number in range(len(pieces)):
            try:
                found.append([bytes(item) for item in pieces.read(number).items])
            except NotStreamableError:
                found += [[bytes(item) for item in piece.items] for piece in pieces.stream_from(number)]
                break
    assert [piece for piece in found if piece] == [piece for piece in whole if piece]

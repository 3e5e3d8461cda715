"""The content of a snapshot, as data and as text."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from kschedctl.objects.core import Node
from kschedctl.output.data_forms import as_json
from kschedctl.questions.frame import View
from kschedctl.questions.snapshot.analysis import snapshot_info as read_info
from kschedctl.questions.snapshot.analysis import snapshot_info_answer as snapshot_info
from kschedctl.questions.snapshot.answer import SnapshotInfo
from kschedctl.questions.snapshot.document import document
from kschedctl.sources.snapshot.header import SnapshotHeader
from kschedctl.sources.snapshot.summary import ReadSummary, SkippedFile
from tests.answer_schema import validate
from tests.questions.printing import lines

EVENT = '{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"}, "lastTimestamp": "2026-01-01T00:00:00Z"}'
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def info() -> SnapshotInfo:
    captured_at = datetime(2026, 5, 4, 11, tzinfo=UTC)
    header = SnapshotHeader(kschedctl_version="9.9", captured_at=captured_at, context="prod", kinds={"Pod": 0})
    summary = ReadSummary(
        n_of_kind=Counter({"Node": 2}),
        files=Counter({"prod.tar.gz:nodes.json": 2}),
        passed=[SkippedFile("prod.tar.gz:.old.json", "hidden", True)],
        left_out=Counter({"Lease.coordination.k8s.io": 3}),
        git_version="v1.36.1",
        header=header,
        captured_at=captured_at,
        listed={"Pod": ""},
        not_listed={"ResourceQuota"},
    )
    return snapshot_info(["prod.tar.gz"], Counter({Node: 2}), summary)


def test_answer_is_valid_by_the_schema() -> None:
    validate(json.loads(as_json(info())))


def test_text_has_age_kinds_and_what_is_not_known() -> None:
    said = lines(document(info(), View(now=NOW)), 1000)
    assert said[:5] == [
        "prod.tar.gz: a snapshot of 2 objects",
        "  captured    2026-05-04 11:00:00 UTC, 1 h ago",
        "  Kubernetes  v1.36.1",
        "  captured by kschedctl 9.9",
        "  anonymised  no",
    ]
    assert "        2 Node" in said
    assert "        3 Lease.coordination.k8s.io, not used by scheduling" in said
    assert "     none of Pod" in said
    assert said[-5:] == [
        "  warning: resourcequotas cannot be listed by this user: no new pod is refused for a quota",
        "  warning: prod.tar.gz:.old.json was not read (hidden): the contents are ignored",
        "",
        "  prod.tar.gz:nodes.json: 2 objects",
        "  prod.tar.gz:.old.json: not read, hidden",
    ]
    assert not any("ResourceQuota" in line for line in said)


def test_names_are_its_kinds() -> None:
    assert info().names() == ("Node",)


def test_a_file_without_objects_is_shown_with_its_use(tmp_path: Path) -> None:
    files = {
        "events.json": f'{{"apiVersion": "v1", "kind": "List", "items": [{EVENT}]}}',
        "node.json": '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}',
        "pods.json": '{"apiVersion": "v1", "kind": "PodList", "items": []}',
        "table.json": '{"apiVersion": "meta.k8s.io/v1", "kind": "Table", "rows": []}',
        "version.json": '{"serverVersion": {"gitVersion": "v1.36.1"}}',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    said = lines(document(read_info([str(tmp_path)]), View(now=NOW)), 1000)
    shown = {line.strip().replace(f"{tmp_path}/", "") for line in said}
    assert {
        "events.json: ignored except for times, as scheduling does not read 1 Event",
        "node.json: 1 object",
        "pods.json: read, an empty list",
        "table.json: not used, a Table, which lacks the fields that scheduling reads",
        "version.json: read as kubectl version -o json",
    } <= shown

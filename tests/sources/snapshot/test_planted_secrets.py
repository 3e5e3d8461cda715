"""Secrets planted in every text of objects of all kinds: a capture contains at most those in its kept fields."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest

from kschedctl.objects.core import Condition, QuantityText
from kschedctl.objects.event import WARNING, Event
from kschedctl.objects.kinds import LISTED_KINDS
from kschedctl.objects.meta import Int32, Int64
from kschedctl.sources.snapshot.anonymize import anonymized
from kschedctl.sources.snapshot.capture import (
    READ_ANNOTATIONS,
    READ_MESSAGES,
    Capture,
    capture,
    kept_fields,
    write_capture,
)
from kschedctl.sources.snapshot.load import SnapshotReader
from kschedctl.sources.snapshot.rewriting import structs_in

#: Letters only, as the names of people are.
_WORD = re.compile("qzx[a-j]{6}xzq")
TIME = "2026-01-01T00:00:00Z"
#: The forms of planted secrets; some forms have a meaning for scheduling.
FORMS = [
    "{}",
    "kubernetes.io/{}",
    "{}.k8s.io/x",
    "topology.kubernetes.io/{}",
    "vol-{}",
    "{}__eu",
    "aws://{}/x",
    "{}@sha256:x",
    "hugepages-{}",
    "count/{}.apps",
    "kubernetes.io/csi/{}^x",
    "requests.{}",
    "attachable-volumes-csi-{}",
    "{}.storageclass.storage.k8s.io/requests.storage",
    "projects/{}/zones/x/disks/y",
    "europe-west1-{}",
]


class Planter:
    """A generator of objects that records the place of every planted secret."""

    def __init__(self, form: str) -> None:
        self.paths: dict[str, tuple[str, str]] = {}
        self._form = form
        self._kind = ""

    def secret(self, path: str) -> str:
        number = len(self.paths)
        word = "qzx" + "".join("abcdefghij"[int(digit)] for digit in f"{number:06d}") + "xzq"
        self.paths[word] = self._kind, path
        return self._form.format(word)

    def object(self, group: str, kind: str) -> dict[str, Any]:
        type_ = LISTED_KINDS[group, kind]
        self._kind = type_.__name__
        made: dict[str, Any] = self._value(type_, "")
        if type_ is Event:
            # Other Events are not read.
            made["type"] = WARNING
        return {**made, "apiVersion": f"{group}/v1" if group else "v1", "kind": kind}

    def _value(self, type_: Any, path: str) -> Any:
        type_ = next((part for part in get_args(type_) if get_origin(part) is dict), type_)
        structs = structs_in(type_)
        if get_origin(type_) is dict and structs:
            return {self.secret(path): self._value(structs[0], path)}
        if get_origin(type_) is tuple:
            inner = f"{path}[]"
            if structs == (Condition,):
                return list(self._conditions(path))
            return [self._value(structs[0], inner) if structs else self._leaf(get_args(type_)[0], path)]
        if structs:
            fields = msgspec.structs.fields(structs[0])
            prefix = f"{path}." if path else ""
            made = {field.encode_name: self._value(field.type, f"{prefix}{field.encode_name}") for field in fields}
            return {**made, "unknown": self.secret(f"{prefix}unknown"), "password": {"a": [self.secret("unknown")]}}
        if get_origin(type_) is dict:
            if path.endswith("annotations"):
                return {self.secret("unknown"): self.secret("unknown")} | {
                    key: self.secret(path) for key in sorted(READ_ANNOTATIONS)
                }
            return {self.secret(path): self._leaf(get_args(type_)[1], path)}
        return self._leaf(type_, path)

    def _leaf(self, type_: Any, path: str) -> Any:
        parts = {type_, *get_args(type_)}
        if type_ in (QuantityText, QuantityText | None) or type_ is str or str in parts:
            return self.secret(path)
        if parts & {Int32, Int64, int}:
            return 1
        return True if bool in parts else TIME

    def _conditions(self, path: str) -> Iterator[dict[str, Any]]:
        known = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": TIME}
        places = (
            "waiting for {}.",
            "1 Insufficient {}.",
            "1 node(s) had untolerated taint {{{}: {}}}.",
            'persistentvolumeclaim "{}" not found',
            "looking up PVC {}/{}: {}",
        )
        for text in places:
            filled = text.format(*(self.secret(f"{path}[].message") for _ in range(text.count("{}"))))
            yield {**known, "message": f"0/3 nodes are available: {filled}"}
        yield {"type": "PodScheduled", "status": "False", "reason": "SchedulerError"} | {
            "message": self.secret(f"{path}[].message")
        }
        yield {**known, "reason": self.secret(f"{path}[].reason"), "message": self.secret(f"{path}[].message")}
        # Of allocated devices every condition is kept: drivers make up their names.
        other = self.secret(f"{path}[].type" if self._kind == "ResourceClaim" else "unknown")
        for type_ in ("Ready", "PodResizePending", "DisruptionTarget", other):
            reason = self.secret(f"{path}[].reason" if type_ != "Ready" else "unknown")
            yield {"type": type_, "status": self.secret(f"{path}[].status"), "reason": reason} | {
                "message": self.secret(f"{path}[].message" if type_ in READ_MESSAGES else "unknown")
            }


def found_in(text: str, paths: dict[str, tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the places of the planted secrets that occur in a text."""
    return {paths[word] for word in set(_WORD.findall(text))}


def planted(form: str, folder: Path) -> tuple[Capture, dict[str, tuple[str, str]]]:
    planter = Planter(form)
    folder.mkdir()
    for group, kind in LISTED_KINDS:
        text = json.dumps(planter.object(group, kind))
        name = planter.secret("file").replace("/", "-")
        (folder / f"{name}.json").write_text(text)
        (folder / f"{name}.json.bak").write_text(text)
    return capture(SnapshotReader([folder])), planter.paths


def written(captured: Capture, folder: Path) -> str:
    write_capture(captured, folder)
    return "".join(f"{path.name}\n{path.read_text()}" for path in sorted(folder.iterdir()))


@pytest.mark.parametrize("form", FORMS)
def test_a_capture_has_what_it_keeps_and_no_more(form: str, tmp_path: Path) -> None:
    captured, paths = planted(form, tmp_path / "source")
    assert len(paths) > 1000
    kept = set(kept_fields())
    text = written(captured, tmp_path / "plain")
    left = found_in(text, paths)
    assert left - kept == set()
    # It would be no test if nothing were left.
    assert len(left) > 300


@pytest.mark.parametrize("form", FORMS)
def test_an_anonymised_capture_has_none(form: str, tmp_path: Path) -> None:
    captured, paths = planted(form, tmp_path / "source")
    text = written(anonymized(captured), tmp_path / "anonymised")
    assert found_in(text, paths) == set()


def test_what_an_earlier_header_says_is_not_passed_on(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    header = {
        "kschedctlVersion": "1",
        "context": "s3cret",
        "notListed": {"CSINode": "csinodes of s3cret", "s3cret": "s3cret"},
        "serverVersion": {"gitVersion": "v1.36.0-s3cret"},
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    (tmp_path / "s/snapshot.json").write_text(json.dumps(header))
    (tmp_path / "s/nodes.json").write_text(json.dumps(node))
    captured = capture(SnapshotReader([tmp_path / "s"]))
    assert list(captured.header.not_listed) == ["CSINode"]
    assert "s3cret" not in written(anonymized(captured), tmp_path / "out")

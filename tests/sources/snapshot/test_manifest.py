"""A manifest is read once: one parse of its text, one decoding to its type, one decoding like an API server's."""

import json
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest
import yaml
from msgspec.json import Decoder

from kschedctl.common.text import yaml_lines
from kschedctl.common.text.tree import read_tree
from kschedctl.common.text.yaml_events import EventReader
from kschedctl.common.text.yaml_lines import LineReader
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.schema.schema import decode_object
from kschedctl.sources.snapshot.decoding import decode
from kschedctl.sources.snapshot.documents import YamlText
from kschedctl.sources.snapshot.load import read_manifest
from kschedctl.sources.snapshot.manifest import refuse
from kschedctl.sources.snapshot.validation import Validation
from tests.cli import in_process

NODE = """\
{"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "a"},
 "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}]}
{"apiVersion": "v1", "kind": "NamespaceList", "items": [{"metadata": {"name": "default"}}]}
{"apiVersion": "v1", "kind": "PodList", "items": []}
"""
MARK = "mark-of-the-manifest"
POD = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: web, labels: {{app: {MARK}}}}}
spec:
  containers:
  - name: c
    image: web:1
    resources: {{requests: {{cpu: "1"}}}}
"""
TWICE = "  nodeSelector: {}\n  nodeSelector: {}\n"
UNKNOWN = "  nodeSelectors: {}\n"

JSON = (msgspec.json.decode, msgspec.json.encode)
#: The functions that parse a whole text, each with the name under which its calls are counted.
PARSERS = {
    function.__code__: name
    for name, functions in {
        "parse": (EventReader.document, LineReader.document),
        "repeated": (vars(YamlText)["repeated"].func,),
        "positions": (read_tree,),
        "server": (decode_object,),
    }.items()
    for function in functions
}


class Readings:
    """A counter of the parses and decodings of marked data."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> Counter[str]:
        sys.setprofile(self._heard)
        return self.counts

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _heard(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_back is not None and frame.f_back.f_code is yaml_lines._by_events.__code__:
            # The line reader passes single entries on, which are part of the text that it parses.
            return
        if event == "call" and (name := PARSERS.get(frame.f_code)) is not None:
            # The other files have neither YAML nor kinds that an API server is asked about.
            self.counts[name] += 1
        elif event == "call" and frame.f_code is decode.__code__ and frame.f_locals["type_"] is Pod:
            self.counts["struct"] += 1
        elif event == "c_call" and (argument in JSON or isinstance(getattr(argument, "__self__", None), Decoder)):
            self.counts["json"] += any(_is_marked(value) for value in frame.f_locals.values())


def _is_marked(value: object) -> bool:
    return isinstance(value, bytes | memoryview | msgspec.Raw) and MARK.encode() in bytes(value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cluster.json").write_text(NODE)
    return tmp_path


def explained(folder: Path, text: str, *options: str) -> Counter[str]:
    (folder / "pod.yaml").write_text(text)
    with Readings() as counts:
        answer = in_process.run("explain", "pod.yaml", "--snapshot", "cluster.json", *options, folder=folder)
    assert answer.code == 0, answer.err
    return +counts


def test_explaining_a_pod_reads_its_manifest_once(folder: Path) -> None:
    assert explained(folder, POD) == {"parse": 1, "struct": 1, "server": 1}


def test_a_manifest_in_json_is_decoded_once_to_find_its_end_and_once_to_data(folder: Path) -> None:
    (folder / "pod.json").write_text(json.dumps(yaml.safe_load(POD)))
    with Readings() as counts:
        answer = in_process.run("explain", "pod.json", "--snapshot", "cluster.json", folder=folder)
    assert answer.code == 0, answer.err
    assert counts == {"json": 2, "struct": 1, "server": 1}


def test_keys_given_twice_and_positions_are_looked_for_once_where_they_are_told(folder: Path) -> None:
    expected = {"parse": 1, "struct": 1, "server": 1, "repeated": 1, "positions": 1}
    assert explained(folder, f"{POD}{UNKNOWN}{UNKNOWN.replace('rs', 'rz')}{TWICE}", "--validate=warn") == expected


def test_all_that_is_known_of_an_object_is_one_value(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(f"{POD}{UNKNOWN}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\n")
    manifest = read_manifest(file, allow_others=True, validation=Validation.WARN)
    pod, settings = manifest.read
    assert pod.struct is not None
    assert (pod.struct.name, str(pod.location)) == ("web", f"{file}, document 1")
    assert pod.tree is not None
    assert pod.tree["spec"] == {
        "containers": [{"name": "c", "image": "web:1", "resources": {"requests": {"cpu": "1"}}}]
    }
    assert (settings.struct, settings.kind) == (None, "ConfigMap")
    assert manifest.written.of(pod.struct)["metadata"]["labels"] == {"app": MARK}
    assert [str(warning.position) for warning in manifest.warnings] == ["line 9, column 3"]


def test_judging_an_object_leaves_it_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(POD.replace("requests", "limits") + "  hostNetwork: true\n")
    (pod,) = read_manifest(file).read
    assert refuse([pod], LATEST) == refuse([pod], LATEST)
    assert pod.tree is not None
    (container,) = pod.tree["spec"]["containers"]
    assert container["resources"] == {"limits": {"cpu": "1"}}

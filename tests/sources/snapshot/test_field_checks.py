"""Treatment of manifest fields that an API server rejects; fields of snapshots are not checked."""

from pathlib import Path

import pytest

from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Finding
from kschedctl.sources.snapshot.load import SnapshotReader, read_manifest
from kschedctl.sources.snapshot.pod_choice import pod_of
from kschedctl.sources.snapshot.validation import Validation

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
UNKNOWN = POD + "  nodeSelectors:\n    a: b\n"
TWICE = POD + "  nodeName: a\n  nodeName: b\n"
LIST = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
    "- " + text.replace("\n", "\n  ").rstrip() + "\n" for text in (POD, UNKNOWN, TWICE)
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
            f"{POD}---\n{UNKNOWN}", [('unknown field "spec.nodeSelectors"', "line 10, column 3")], id="second"
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

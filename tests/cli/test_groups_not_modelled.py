"""Composite groups and device claims of groups are read, and every answer that they could change says so."""

from pathlib import Path

import msgspec
import pytest
import yaml

from kschedctl.objects.meta import ApiObject
from tests.builders import make_node
from tests.cli.in_process import run
from tests.gangs import make_members

CLAIMS = "not modelled: the device claims of PodGroup gang; the answer assumes that they reject no node"
COMPOSITE = "not modelled: CompositePodGroup tree; the answer assumes that the group is scheduled by itself"


def written(obj: ApiObject) -> object:
    return msgspec.to_builtins(obj) | {"apiVersion": "v1", "kind": type(obj).__name__}


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("explain", ["default/gang-0"]),
        ("pending", []),
        ("simulate", []),
        ("capacity", ["default/gang-0"]),
        ("optimum", []),
    ],
)
@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"resourceClaims": [{"name": "net", "resourceClaimTemplateName": "net"}]}, CLAIMS),
        ({"parentCompositePodGroupName": "tree"}, COMPOSITE),
        ({}, ""),
    ],
    ids=["claims", "composite", "neither"],
)
def test_note(tmp_path: Path, command: str, options: list[str], field: dict[str, object], expected: str) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, **field},
    }
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all([group, *map(written, [make_node("a"), *make_members(2)])]))
    done = run(command, *options, "--snapshot", str(path), environment={"COLUMNS": "200", "NO_COLOR": "1"})
    assert done.code in (0, 1), done.err
    assert [line for line in done.out.splitlines() if "not modelled" in line] == [expected] * bool(expected)

"""Catalogs: valid content, and problems with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from kschedctl.common.errors import InputError
from kschedctl.trials.optimum.catalog import read_catalog

GOOD = """\
kinds:
- name: general
  price: 0.192
  most: 3
  allocatable: {cpu: 4, memory: 14Gi, pods: 58}
  labels: {zone: a}
  taints: [{key: dedicated, effect: NoSchedule}]
- {name: large, price: "1", allocatable: {cpu: 8, memory: 30Gi, pods: 58}}
"""


def read(tmp_path: Path, text: str) -> tuple[str, ...]:
    """Return the problems of a catalog, each with line and column."""
    path = tmp_path / "catalog.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_catalog(str(path))
    return tuple(str(f).replace(f"{path}:", "").splitlines()[0] for f in error.value.findings)


def test_kinds_are_read_with_prices_in_millionths(tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text(GOOD)
    general, large = read_catalog(str(path)).kinds
    assert (general.cost, general.most, large.cost, large.most) == (192_000, 3, 1_000_000, None)
    node = general.node(2)
    assert node.name == "general-new-2"
    assert node.metadata.labels == {"zone": "a", "kubernetes.io/hostname": "general-new-2"}
    assert node.status.allocatable == {"cpu": "4", "memory": "14Gi", "pods": "58"}
    assert [taint.key for taint in node.spec.taints] == ["dedicated"]


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("name: general", "name: General", "2:9: kinds[0].name: a lowercase RFC 1123 subdomain must consist"),
        ("name: general", "title: general", "2:10: kinds[0].title: unknown field"),
        ("name: large", "name: general", '8:10: kinds[1].name: "general" is defined twice'),
        ("price: 0.192", "price: cheap", '3:10: kinds[0].price: "cheap" is not a price'),
        ("price: 0.192", "price: -1", '3:10: kinds[0].price: "-1" is not a price'),
        ("price: 0.192", "price: 0.1234567", '3:10: kinds[0].price: "0.1234567" is not a price'),
        ("price: 0.192", "price: [1]", "3:10: kinds[0].price: expected string, got array"),
        ("most: 3", "most: -3", "4:9: kinds[0].most: must not be negative"),
        ("cpu: 4,", "cpu: 4z,", '5:22: kinds[0].allocatable[cpu]: "4z": quantities must match'),
        ("cpu: 4,", "cpu: -4,", "5:22: kinds[0].allocatable[cpu]: must not be negative"),
        ("cpu: 4, ", "", "5:16: kinds[0].allocatable: cpu is missing"),
        ("zone: a", "zone: '-'", "6:18: kinds[0].labels[zone]: a valid label must be an empty string"),
        ("effect: NoSchedule", "effect: Never", '7:37: kinds[0].taints[0].effect: "Never" is not a taint effect'),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_column(was: str, now: str, said: str, tmp_path: Path) -> None:
    assert was in GOOD
    assert any(each.startswith(said) for each in read(tmp_path, GOOD.replace(was, now, 1)))


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "is not an object"), ("- 1", "is not an object"), ("kinds: []", "kinds: no kind of node is defined")],
)
def test_what_is_no_catalog(text: str, said: str, tmp_path: Path) -> None:
    assert any(said in each for each in read(tmp_path, text))


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        read_catalog("nowhere.yaml")

"""The map has every room."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = sorted(path.parent.name for path in (ROOT / "kschedctl").glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_architecture_has_the_room(room: str) -> None:
    assert f"| `{room}/` |" in (ROOT / "ARCHITECTURE.md").read_text()


@pytest.mark.parametrize("room", ROOMS)
def test_the_room_has_its_place_among_the_layers(room: str) -> None:
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    placed = {name.strip() for layer in contract["layers"] for name in layer.split("|")}
    assert f"kschedctl.{room}" in placed

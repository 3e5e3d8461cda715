"""Random clusters on a real control plane: what the real scheduler does is what we say, and in the same words.

``LIVE_SEEDS=1-40`` runs these seeds instead of a few; ``LIVE_STEPS`` bounds the steps of each, ``LIVE_KEEP=FOLDER``
keeps there what the cluster was before each, for ``kschedctl explain --snapshot``.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.generate.chance import Chance
from tests.live.control_plane import ControlPlane, missing_assets
from tests.live.differential.play import Play
from tests.live.differential.scenery import Scenery
from tests.live.differential.stage import Stage

pytestmark = pytest.mark.live


def seeds() -> list[int]:
    """The seeds that are asked for."""
    first, _, last = os.environ.get("LIVE_SEEDS", "1-2").partition("-")
    return list(range(int(first), int(last or first) + 1))


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    missing = missing_assets()
    if missing:
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


@pytest.mark.parametrize("seed", seeds())
def test_every_step_of_the_scheduler_is_ours(plane: ControlPlane, seed: int) -> None:
    scenery = Scenery(seed)
    keep = os.environ.get("LIVE_KEEP")
    if keep:
        Path(keep, str(seed)).mkdir(parents=True)
    play = Play(Stage(plane, scenery, Path(keep, str(seed)) if keep else None), scenery, Chance(f"turns/{seed}"))
    found = [(i, text) for i, step in enumerate(play.steps(int(os.environ.get("LIVE_STEPS", "60")))) for text in step]
    print(f"seed {seed}: {play.n_placed} placed, {play.n_refused} refused, {play.n_victims} victims")
    assert not found, "\n".join(f"step {i}: {text}" for i, text in found)
    assert play.n_placed

"""The example of a zone conflict keeps what its README promises."""

import pytest

from kschedctl.objects.releases.release import RELEASES
from kschedctl.questions.volumes.overview import VolumeOverview
from kschedctl.trials.claim_action import ClaimAction
from tests.builders import load_engine
from tests.paths import ROOT

FOLDER = ROOT / "fixtures" / "volumes"
POD = "shop/reports-6f7d8c9b5d-x2k4q"
ZONE_A, ZONE_B = "eu-central-1a", "eu-central-1b"


@pytest.mark.parametrize("version", RELEASES)
def test_the_conflict_leaves_no_node(version: str) -> None:
    decision = load_engine(FOLDER / "conflict", kubernetes_version=version).decide(POD)
    assert decision.best == ()
    text = " ".join((FOLDER / "README.md").read_text().split())
    assert decision.message.startswith(text[text.index("0/5 nodes") : text.index(" The two are")])


def test_the_conflict_is_a_trap_of_its_class() -> None:
    cluster = load_engine(FOLDER / "conflict")
    found = VolumeOverview(cluster.cluster).pod(cluster.find(POD))
    assert (found.selected_zones, found.zones, found.conflict) == ((ZONE_A,), (ZONE_B,), True)
    trap = found.claims[0].trap
    assert trap is not None
    assert (trap.storage_class, trap.zones, trap.other_zones) == ("gp3", (ZONE_B,), (ZONE_A,))


@pytest.mark.parametrize("version", RELEASES)
def test_the_repair_lets_the_pod_choose(version: str) -> None:
    cluster = load_engine(FOLDER / "repair", kubernetes_version=version)
    assert cluster.decide(POD).best == ("memory-1", "memory-2")
    found = VolumeOverview(cluster.cluster).pod(cluster.find(POD))
    assert (found.zones, found.conflict, found.claims[0].trap) == ((), False, None)
    assert found.claims[0].outcome.action is ClaimAction.WAIT_FOR_POD


@pytest.mark.parametrize("snapshot", ["conflict", "repair"])
def test_nothing_is_amiss_in_the_snapshots(snapshot: str) -> None:
    cluster = load_engine(FOLDER / snapshot)
    assert cluster.cluster.warnings == ()
    assert not cluster.missing(POD)

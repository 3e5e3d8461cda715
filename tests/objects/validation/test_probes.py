"""Objects of which a real API server told what it refuses: the same objects, the same words, the same order."""

import copy

import pytest

from tests.objects.validation.probes import BASES, Probe, probes
from tests.objects.validation.saying import Said, said

EVERY = probes()


@pytest.mark.parametrize("probe", EVERY, ids=str)
def test_said_as_an_api_server_says_it(probe: Probe) -> None:
    before = copy.deepcopy(probe.object)
    found = said(probe.object)
    assert found == Said(probe.refused, probe.pods, found.warned)
    assert sorted(found.warned) == sorted(probe.warned)
    assert probe.object == before


def test_every_kind_and_every_verdict_is_probed() -> None:
    assert {probe.object["kind"] for probe in EVERY} == set(BASES)
    assert len({probe.what for probe in EVERY}) == len(EVERY) > 250
    assert sum(bool(probe.refused) for probe in EVERY) > 200
    assert any(probe.pods for probe in EVERY)
    assert any(probe.warned for probe in EVERY)

"""Validation of pod groups compared with a real API server that serves them, with all their gates on and with one."""

import json
from collections.abc import Iterator

import pytest

from tests.live.control_plane import ControlPlane, assets_release, missing_assets
from tests.live.test_validation import Asked
from tests.objects.validation.generator import made_up
from tests.objects.validation.groups import GATES, GROUP_BASES, group_probes, release_with
from tests.objects.validation.saying import said

pytestmark = pytest.mark.live

_PER_KIND = 60


@pytest.fixture(scope="module", params=[True, False], ids=["every gate", "one gate"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Asked, str, bool]]:
    if missing := missing_assets():
        pytest.skip(f"no control plane to test against: {missing}")
    every_gate: bool = request.param
    plane = ControlPlane(tmp_path_factory.mktemp("groups"))
    version = assets_release()
    on = GATES[version] if every_gate else GATES[version][:1]
    try:
        gates = ",".join(f"{gate}=true" for gate in on)
        plane.start(f"--feature-gates={gates}", "--runtime-config=api/all=true")
        asked = Asked(plane.kubeconfig)
        try:
            yield asked, version, every_gate
        finally:
            asked.close()
    finally:
        plane.stop()


def test_the_table_is_what_it_says(served: tuple[Asked, str, bool]) -> None:
    asked, version, every_gate = served
    probes = [probe for probe in group_probes() if (probe.release, probe.every_gate) == (version, every_gate)]
    assert probes
    for probe in probes:
        assert asked.said(probe.object).refused == probe.refused, str(probe)


def test_made_up_objects_are_refused_alike(served: tuple[Asked, str, bool]) -> None:
    asked, version, every_gate = served
    release = release_with(version, every_gate=every_gate)
    refused = 0
    for kind, base in GROUP_BASES[version].items():
        if kind == "v1/Pod" or (base["kind"] == "CompositePodGroup" and not every_gate):
            continue
        for seed in range(_PER_KIND):
            obj = made_up(kind, seed, GROUP_BASES[version])
            theirs = asked.said(obj)
            refused += bool(theirs.refused)
            assert said(obj, release) == theirs, (seed, json.dumps(obj))
    assert refused

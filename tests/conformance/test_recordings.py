"""Recorded answers are ours, and their reasons are made of operands."""

from collections.abc import Iterator

import pytest

from conformance import gaps
from conformance.comparison import PARTS, differences
from conformance.recordings import cases, compared, our_decision, recorded_answers, themes
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.scheduler.framework.status import Reason
from kschedctl.scheduler.plugins.node_affinity import REASON_ENFORCED
from tests.builders import told

GAPS = gaps.read()
SHOWN = 10


@pytest.mark.slow
@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("theme", themes())
def test_answers_equal_the_recorded_ones(theme: str, version: str) -> None:
    listed = gaps.listed(theme, version, GAPS)
    wrong: list[str] = []
    for case, recorded, ours in compared(theme, version):
        found = differences(recorded, ours)
        gap = listed.get(case.id)
        if gap is None:
            wrong += [f"{case.id} {part}: {text}" for part, text in found.items()]
        elif not found:
            wrong.append(f"{case.id}: listed in gaps.toml as waiting for {gap.needs}, and equal: take it out")
        elif sorted(found) != sorted(gap.parts):
            wrong.append(f"{case.id}: differs in {', '.join(found)}; gaps.toml says {', '.join(gap.parts)}")
    if wrong:
        more = [f"... and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        pytest.fail("\n".join([f"{theme} of Kubernetes {version}:", *wrong[:SHOWN], *more]), pytrace=False)


def test_every_theme_has_cases() -> None:
    assert {theme: len(cases(theme)) for theme in themes()} == dict.fromkeys(themes(), 150)


#: Cases that a release leaves to chance: of two budgets that protect the same pod, the order of its cache decides.
LEFT_TO_CHANCE = {"1.38": {"preemption-36-0062"}}


@pytest.mark.parametrize("theme", themes())
def test_releases_answer_cases_of_objects_that_they_know(theme: str) -> None:
    """DeviceTaintRule came with 1.37; all else is answered by all releases that answer the theme."""
    newer = {case.id for case in cases(theme) if any(obj["kind"] == "DeviceTaintRule" for obj in case.objects)}
    every = {case.id for case in cases(theme)}
    for version in RELEASES:
        known = every if [*RELEASES].index(version) >= [*RELEASES].index("1.37") else every - newer
        expected = known - LEFT_TO_CHANCE.get(version, set()) if theme in themes(version) else set()
        assert set(recorded_answers(theme, version)) == expected, version


def test_gaps_name_recorded_cases_and_parts_once() -> None:
    named = [(gap.release, case) for gap in GAPS for case in gap.cases]
    assert len(named) == len(set(named))
    for gap in GAPS:
        assert gap.release in RELEASES
        assert set(gap.parts) <= set(PARTS)
        assert set(gap.cases) <= {case.id for case in cases(gap.theme)}


def reasons_in(theme: str) -> Iterator[tuple[str, Reason]]:
    """Yield every reason for a rejection in a theme, with its plugin."""
    for case in cases(theme):
        decision = our_decision(case, LATEST)
        for row in range(len(decision.cluster.nodes)) if decision.statuses is not None else ():
            for plugin, reasons in decision.verdict(row).reasons:
                for reason in reasons:
                    yield plugin, reason


VOLUME_PLUGINS = {"VolumeBinding", "VolumeRestrictions", "VolumeZone", "NodeVolumeLimits"}
OTHER_PLUGINS = {
    "DynamicResources",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeDeclaredFeatures",
    "NodePorts",
    "NodeResourcesFit",
    "NodeUnschedulable",
    "PodTopologySpread",
    "TaintToleration",
}
#: A profile's own affinity, claims that cannot be looked up, and errors in the search for devices are said in the
#: scheduler's words alone.
WITHOUT = (REASON_ENFORCED, "PVC ", "looking up PVC ", "claim ", "class ")


@pytest.mark.parametrize(
    ("theme", "plugins"),
    [
        pytest.param("mixed", VOLUME_PLUGINS | OTHER_PLUGINS, id="mixed"),
        pytest.param("volumes", VOLUME_PLUGINS, id="volumes"),
        pytest.param("devices", {"DynamicResources", "NodeResourcesFit", "TaintToleration"}, id="devices"),
    ],
)
def test_every_reason_is_made_of_operands(theme: str, plugins: set[str]) -> None:
    seen = set()
    for plugin, reason in reasons_in(theme):
        if reason.operands is None:
            assert reason.text.startswith(WITHOUT), f"{plugin}: {reason.text}"
            assert (reason.detail, reason.data) == ("", {})
        else:
            assert (reason.detail, reason.data) == told(reason.operands)
            seen.add(plugin)
    assert seen == plugins

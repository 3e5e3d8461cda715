"""Every reason of kube-scheduler has a meaning on docs/reasons.md, and it is that of the operands which it has."""

from collections import defaultdict

import pytest

from conformance.coverage import shape
from conformance.recordings import cases, our_decision, themes
from kschedctl.common.errors import KschedctlError
from kschedctl.objects.releases.release import RELEASES
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.plugins.registry import IN_TREE_PLUGINS
from tools.reason_meanings import MEANINGS, BeforeFilter
from tools.reasons_page import REASONS, cures

#: Every n-th recorded case of a theme is decided.
SHARE = 5
GANGS = "GangScheduling"


def test_every_reason_has_a_meaning_and_no_other_text() -> None:
    listed = {
        plugin: {entry if isinstance(entry, str) else entry["reason"] for entry in entries}
        for plugin, entries in REASONS.items()
    }
    assert {plugin: {*of} for plugin, of in MEANINGS.items() if plugin != GANGS} == listed
    # The reasons of pod groups are not part of the recorded cases of one pod.
    assert GANGS in IN_TREE_PLUGINS


def test_every_kind_of_operands_is_in_the_table() -> None:
    named = {
        kind for of in MEANINGS.values() for meaning in of.values() if isinstance(meaning, tuple) for kind in meaning
    }
    ours = {kind for kind in _leaves(Operands) if kind.__module__.startswith("kschedctl.")}
    assert {kind.__name__ for kind in ours - named} == {"ExtenderRejection"}


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in Operands.__subclasses__()
        # Tests define kinds of their own.
        if kind.remedies is not Operands.remedies and kind.__module__.startswith("kschedctl.")
    ],
    ids=lambda kind: kind.__name__,
)
def test_cures_are_told_as_instructions(kind: type[Operands]) -> None:
    assert (kind.remedies.__doc__ or "").startswith("Propose to ")
    assert cures(kind).endswith(".")


@pytest.mark.slow
@pytest.mark.parametrize("version", RELEASES)
def test_recorded_cases_have_these_operands(version: str) -> None:
    found: dict[tuple[str, str], set[type[Operands] | None]] = defaultdict(set)
    before_filter: set[tuple[str, str]] = set()
    for theme in themes():
        for case in cases(theme)[::SHARE]:
            try:
                decision = our_decision(case, RELEASES[version])
            except KschedctlError:
                continue
            early = [decision.pre_enqueue, *([decision.pre_filter.status] if decision.pre_filter else [])]
            before_filter |= {(status.plugin, shape(text)) for status in early for text in status.reasons}
            for row in range(len(decision.cluster.nodes)):
                for plugin, reasons in decision.verdict(row).reasons:
                    for reason in reasons:
                        found[plugin, shape(reason.text)].add(type(reason.operands) if reason.operands else None)
    assert found
    for (plugin, text), kinds in found.items():
        meaning = MEANINGS[plugin][text]
        assert kinds <= ({*meaning} if isinstance(meaning, tuple) else {None}), (plugin, text)
    for plugin, text in before_filter:
        if plugin in IN_TREE_PLUGINS and text in MEANINGS[plugin]:
            assert isinstance(MEANINGS[plugin][text], BeforeFilter), (plugin, text)


def _leaves(kind: type[Operands]) -> set[type[Operands]]:
    below = kind.__subclasses__()
    return {kind} if not below else {leaf for each in below for leaf in _leaves(each)}

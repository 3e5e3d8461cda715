"""Pages and their reference sections are made from the code. Rewritten by: make golden"""

import inspect
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

import kschedctl
from conformance.coverage import shape
from conformance.recordings import cases, our_decision, themes
from kschedctl.common.errors import KschedctlError
from kschedctl.diagnosis.diagnose import (
    cluster_rules,
    last_rule,
    rules_of_failed,
    rules_of_gated,
    rules_of_placed,
    rules_of_unscheduled,
)
from kschedctl.linter.rule import Rule
from kschedctl.linter.rules import RULES
from kschedctl.objects.releases.release import RELEASES
from kschedctl.questions.reference import MEANINGS, BeforeFilter, cures
from kschedctl.questions.sweep.cases import plan_of
from kschedctl.questions.sweep.plan import PlanStruct
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.plugins.registry import IN_TREE_PLUGINS
from tests.paths import ROOT
from tools import (
    commands_page,
    dependencies_page,
    diagnoses_page,
    json_page,
    permissions_page,
    python_page,
    reasons_page,
    releases_page,
    rules_page,
    sweep_page,
)
from tools.reasons_page import REASONS
from tools.sweep_page import PARTS

DOCS = ROOT / "docs"
BLOCK = re.compile(r"(<!-- reference -->\n).*?(<!-- /reference -->)", re.DOTALL)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("commands", commands_page.reference),
        ("dependencies", dependencies_page.reference),
        ("json", json_page.reference),
        ("permissions", permissions_page.reference),
        ("python", python_page.reference),
        ("reasons", reasons_page.reference),
        ("releases", releases_page.reference),
        ("sweep", sweep_page.reference),
    ],
)
def test_the_section_is_what_the_code_says(name: str, made: Callable[[], str], request: pytest.FixtureRequest) -> None:
    page = DOCS / f"{name}.md"
    written = page.read_text()
    assert len(BLOCK.findall(written)) == 1
    text = BLOCK.sub(lambda found: f"{found[1]}{made()}\n{found[2]}", written)
    if request.config.getoption("--rewrite-golden"):
        page.write_text(text)
    else:
        assert written == text, "make golden writes it anew"


@pytest.mark.parametrize(("name", "made"), [("rules", rules_page.page), ("diagnoses", diagnoses_page.page)])
def test_the_page_is_what_the_rules_say(name: str, made: Callable[[], str], request: pytest.FixtureRequest) -> None:
    path, text = DOCS / f"{name}.md", made()
    if request.config.getoption("--rewrite-golden"):
        path.write_text(text)
    assert path.read_text() == text, "make golden writes it anew"


def test_every_public_name_is_on_the_page_of_the_python_api() -> None:
    shown = re.findall(r"^::: kschedctl\.(\w+)$", "\n".join(path.read_text() for path in DOCS.glob("python*.md")), re.M)
    assert sorted(shown) == sorted(set(kschedctl.__all__) - {"__version__"})


def test_every_rule_has_a_code_and_a_name_of_its_own() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_check_is_named_after_its_rule(rule: Rule) -> None:
    assert rule.check.__name__.replace("_", "") == rule.name.replace("-", "")


DIAGNOSES = [
    *rules_of_unscheduled(),
    last_rule(),
    *rules_of_failed(),
    *rules_of_placed(),
    *rules_of_gated(),
    *cluster_rules(),
]


@pytest.mark.parametrize("rule", DIAGNOSES, ids=lambda rule: rule.__name__)
def test_a_rule_says_in_its_first_line_what_it_finds(rule: Callable[..., object]) -> None:
    first, _, rest = (inspect.getdoc(rule) or "").partition("\n")
    assert first.endswith(".") or not rest.startswith("\n"), first


PAGE = ROOT / "docs" / "sweep.md"
SWEEPS = sorted((PAGE.parents[1] / "fixtures" / "shop" / "sweeps").glob("*.yaml"))


def test_every_part_of_a_plan_is_in_it() -> None:
    assert set(PARTS) == set(PlanStruct.__subclasses__())


@pytest.mark.parametrize("text", re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
def test_plans_of_the_page_can_be_read(text: str) -> None:
    assert len(plan_of(text.encode(), "docs/sweep.md").cases)


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.name)
def test_the_page_shows_the_plans_of_the_shop(path: Path) -> None:
    assert path.read_text() in PAGE.read_text()


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
        allowed: set[type[Operands] | None] = {*meaning} if isinstance(meaning, tuple) else {None}
        if not RELEASES[version].devices.all_rejects_node and "asks for all devices, but resource pool" in text:
            # Such a pool ends the cycle, which has no operands.
            allowed = {None}
        assert kinds <= allowed, (plugin, text)
    for plugin, text in before_filter:
        if plugin in IN_TREE_PLUGINS and text in MEANINGS[plugin]:
            assert isinstance(MEANINGS[plugin][text], BeforeFilter), (plugin, text)


def _leaves(kind: type[Operands]) -> set[type[Operands]]:
    below = kind.__subclasses__()
    return {kind} if not below else {leaf for each in below for leaf in _leaves(each)}

"""The page of all lint rules, docs/rules.md."""

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.rule import Rule, Stage
from kschedctl.linter.rules import RULES

FAMILIES: Final = {
    "1": "The pod itself",
    "2": "Workloads and rollouts",
    "3": "Budgets and priority",
    "4": "Volumes",
    "5": "Against a snapshot",
    "6": "The scheduler's configuration",
    "7": "Pod groups",
    "8": "Autoscalers of nodes",
    "9": "What is given",
}


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([*_head(), *(line for rule in RULES for line in _rule(rule))]) + "\n"


def _head() -> Iterator[str]:
    yield "# Rules of lint"
    yield ""
    yield "This page is for people who look up a finding of `kschedctl lint`: what is wrong, why, and how to repair it,"
    yield "with a manifest that fails and one that passes. `kschedctl rule KS201` shows one rule. A rule says where it"
    yield "stops:"
    yield ""
    yield from (f"- **{stop.value}**: {stop.words}." for stop in Stage)
    yield ""
    yield "Rules that are off are asked where they are selected: `--extend-select KS210`."
    for family, title in FAMILIES.items():
        rules = [rule for rule in RULES if rule.code[2] == family]
        if not rules:
            continue
        yield ""
        yield f"## KS{family}xx: {title}"
        yield ""
        yield "| rule | severity | place | what it finds |"
        yield "|---|---|---|---|"
        for rule in rules:
            place = rule.stop.value if rule.stop is not None else "-"
            state = rule.severity.value if rule.on else f"off ({rule.severity.value})"
            summary = rule.summary.replace("``", "`").replace("|", "\\|")
            yield f"| [{rule.code} {rule.name}](#{rule.code.lower()}-{rule.name}) | {state} | {place} | {summary} |"


def _rule(rule: Rule) -> Iterator[str]:
    yield ""
    yield f"## {rule.code} {rule.name}"
    for part in rule.page.split("\n\n"):
        yield ""
        yield part.replace("``", "`")
    for title, text in (("Fails", rule.failing_manifests), ("Passes", rule.passing_manifests)):
        yield ""
        yield f"{title}:"
        yield ""
        yield "```yaml"
        yield text.rstrip("\n")
        yield "```"

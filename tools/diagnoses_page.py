"""The page of all diagnoses, docs/diagnoses.md, made from the docstrings of the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType

from kschedctl.diagnosis.rules import LAST, OF_BOUND, RULES, RULES_OF_FAILED, RULES_OF_PLACED, DiagnosisRule


def page() -> str:
    """Return the page as Markdown."""
    lines = [
        "# Diagnoses",
        "",
        "For people who want to know which causes `kschedctl` recognises, and how it tells them apart. The first line",
        "of `explain`, `pending`, `watch` and others has the cause that the first of these rules finds. A cure is",
        "tried before it is shown, unless it takes effect outside the scheduler; then the answer says so.",
        *_section("Pods that are not scheduled, the most important cause first", (*RULES, LAST)),
        *_section("Pods for which kube-scheduler returns an error", RULES_OF_FAILED),
        *_section("Pods that are scheduled and do not start", (*RULES_OF_PLACED, OF_BOUND)),
    ]
    return "\n".join(lines) + "\n"


def _section(title: str, rules: Iterable[DiagnosisRule]) -> Iterator[str]:
    modules = [rule.load() for rule in rules]
    if not modules:
        return
    yield from ("", f"## {title}")
    for module in modules:
        yield from _rule(module)


def _rule(module: ModuleType) -> Iterator[str]:
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    yield from ("", f"### {name}", "", (module.__doc__ or "").strip().replace("``", "`"))

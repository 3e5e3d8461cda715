"""The page of all diagnoses, docs/diagnoses.md, made from the docstrings of the rules."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator

from kschedctl.diagnosis.diagnose import (
    cluster_rules,
    last_rule,
    rules_of_failed,
    rules_of_gated,
    rules_of_placed,
    rules_of_unscheduled,
)
from kschedctl.diagnosis.rules.queue import other_scheduler
from kschedctl.diagnosis.rules.unstarted import unstarted


def page() -> str:
    """Return the page as Markdown."""
    lines = [
        "# Diagnoses",
        "",
        "For people who want to know which causes `kschedctl` recognises, and how it tells them apart. The first line",
        "of `explain`, `pending`, `watch` and others has the cause that the first of these rules finds. A cure is",
        "tried before it is shown, unless it takes effect outside the scheduler; then the answer says so.",
        *_section(
            "Pods that are not scheduled, the most important cause first", (*rules_of_unscheduled(), last_rule())
        ),
        *_section("Pods that kube-scheduler does not try", (*rules_of_gated(), other_scheduler)),
        *_section("Pods for which kube-scheduler returns an error", rules_of_failed()),
        *_section("Pods that are scheduled and do not start", (*rules_of_placed(), unstarted)),
        *_section("Workloads, nodes and components of the cluster", cluster_rules()),
    ]
    return "\n".join(lines) + "\n"


def _section(title: str, rules: Iterable[Callable[..., object]]) -> Iterator[str]:
    yield from ("", f"## {title}")
    for rule in rules:
        name = rule.__name__.removesuffix("_of_placed")
        text = inspect.getdoc(getattr(sys.modules[rule.__module__], name)) or ""
        yield from ("", f"### {name.replace('_', '-')}", "", text.replace("``", "`"))

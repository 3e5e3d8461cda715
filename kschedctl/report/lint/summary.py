"""The last lines of an answer for people: how many findings, of how many objects, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kschedctl.api.wording import counted
from kschedctl.findings.finding import Severity
from kschedctl.report.lint.form import Run


def headline(run: Run) -> str:
    """How many findings there are, and in how many files and objects."""
    linted = run.linted
    counts = Counter(each.severity for each in run.told)
    parts = [
        counted(counts[severity], noun)
        for severity, noun in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"))
        if counts[severity]
    ]
    if counts[Severity.INFO]:
        parts.append(f"{counts[Severity.INFO]} info")
    with_findings = len({each.file.name for each in run.told})
    size = f"{counted(len(linted.files), 'file')} with {counted(linted.n_objects, 'object')}"
    if not parts:
        return f"No findings in {size}."
    return f"{', '.join(parts)} in {with_findings} of {size}."


def beside(run: Run) -> Iterator[str]:
    """What else there is to know."""
    linted = run.linted
    if run.fixed:
        yield f"repaired: {counted(run.fixed, 'finding')}"
    sources = Counter(each.by.source for each in linted.ignored)
    if sources:
        named = ", ".join(f"{n} by {source}" for source, n in sorted(sources.items()))
        yield f"ignored: {counted(len(linted.ignored), 'finding')} ({named})"
    if linted.gone:
        yield f"of the baseline {counted(linted.gone, 'finding')} there no more: --update-baseline takes them out"
    if linted.n_partial:
        patches = "1 that is a patch" if linted.n_partial == 1 else f"{linted.n_partial} that are patches"
        yield f"passed over by most rules: {patches}"
    if linted.n_live:
        yield f"read from a cluster: {counted(linted.n_live, 'object')}, of which what the cluster sets is passed over"
    if linted.undecided:
        rules = ", ".join(sorted({each.rule for each in linted.undecided}))
        first = linted.undecided[0]
        yield f"not decided: {rules} ({first.object}: {first.why})"

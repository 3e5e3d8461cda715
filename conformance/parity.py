"""The parity page: the number of equal recorded answers by release and theme, from the recordings and the list of gaps.

This page only counts. ``tests/conformance/test_recordings.py`` checks the list of gaps, and
``tests/conformance/test_sequences.py`` checks that all sequences except the races are equal.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from conformance import gaps, recordings
from conformance.builds import versions
from kschedctl.objects.releases.release import RELEASES

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "parity.md"
README: Final = ROOT / "README.md"
_LINE: Final = re.compile(r"(<!-- parity -->\n).*?(<!-- /parity -->)", re.DOTALL)


class Count(NamedTuple):
    """The number of answered cases of a release and theme, and the number of these that are not equal."""

    release: str
    theme: str
    cases: int
    gaps: int


#: The rows of the sequences, by theme.
_SEQUENCES: Final = {"sequence": "single pods", "groups": "with pod groups", "trees": "with trees of pod groups"}


def counts() -> list[Count]:
    """Return the counts of all themes, for the releases whose rules kschedctl has."""
    listed = Counter((gap.release, gap.theme) for gap in gaps.read() for _ in gap.cases)
    return [
        Count(release, theme, len(recordings.recorded_answers(theme, release)), listed[release, theme])
        for release in RELEASES
        for theme in recordings.themes()
        if recordings.has_answers(theme, release)
    ]


def sequence_counts() -> list[Count]:
    """Return the counts of the sequences by theme; the ones that are not equal are races within kube-scheduler."""
    found = []
    for release in recordings.sequence_releases():
        races = set(recordings.races(release))
        for theme in recordings.sequence_themes(release):
            names = [case["id"] for case, _ in recordings.sequences(release, theme)]
            found.append(Count(release, theme, len(names), len(races.intersection(names))))
    return found


def line(found: Sequence[Count], sequences: Sequence[Count] = ()) -> str:
    """Return the totals in one sentence."""
    releases = ", ".join(dict.fromkeys(one.release for one in found))
    ran = f", and {_equal(_total(sequences))} runs of many pods" if sequences else ""
    return (
        f"{_equal(_total(found))} recorded answers of the real kube-scheduler ({releases}) are equal, to the last "
        f"score and the last word{ran}: [parity](docs/parity.md)."
    )


def page(found: Sequence[Count], sequences: Sequence[Count] = ()) -> str:
    """Return the whole page as Markdown."""
    releases = list(dict.fromkeys(one.release for one in found))
    cells = {(one.release, one.theme): _cell(one) for one in found}
    rows = [
        [theme, *(cells.get((release, theme), "") for release in releases)]
        for theme in dict.fromkeys(one.theme for one in found)
    ]
    totals = [_cell(_total([one for one in found if one.release == release])) for release in releases]
    return "\n".join(
        [
            "# Parity with kube-scheduler",
            "",
            "This page is for people who ask how exact the answers are. It counts how many answers of the real",
            "scheduler, recorded from its own framework, ours equal: the verdict of every plugin on every node, every",
            "score, the nodes that it can choose, the victims, and the text of the event.",
            "A theme is a set of random clusters about one matter. `python -m conformance parity` writes this page.",
            "",
            *_table(["theme", *map(_head, releases)], [*rows, ["**all**", *(f"**{total}**" for total in totals)]]),
            "",
            "## What is not equal yet",
            "",
            *_gaps(),
            "",
            *(_sequences(sequences) if sequences else ()),
        ]
    )


def _sequences(found: Sequence[Count]) -> list[str]:
    releases = list(dict.fromkeys(one.release for one in found))
    cells = {(one.release, one.theme): _cell(one) for one in found}
    rows = [
        [_SEQUENCES.get(theme, theme), *(cells.get((release, theme), "") for release in releases)]
        for theme in dict.fromkeys(one.theme for one in found)
    ]
    rows.append(["races", *(str(sum(one.gaps for one in found if one.release == each)) for each in releases)])
    return [
        "## Many pods",
        "",
        "A sequence is a cluster and a list of pods that go through kube-scheduler's own loop. Compared are all",
        "attempts (node, message, nominated node, victims), and where the pods are in the end. Which of several best",
        "nodes is taken is chance: ours takes the recorded one. Sequences with pod groups also have the attempts at",
        "groups with their conditions, and stages in which objects are created or deleted.",
        "",
        *_table(["", *map(_head, releases)], rows),
        "",
        f"The others ({_total(found).gaps}) are races within kube-scheduler: what the first victim of a preemption",
        "leaves may wake the preemptor before the last is asked to go. Asked again, kube-scheduler takes now this",
        "turn, now that. Which they are: [races.toml](../fixtures/conformance/sequences/races.toml).",
        "",
    ]


def _head(release: str) -> str:
    known = versions()
    return f"{release} ({known[release]})" if release in known else release


def _equal(one: Count) -> str:
    return f"{one.cases - one.gaps:,} of {one.cases:,}"


def _cell(one: Count) -> str:
    return f"{one.cases - one.gaps} of {one.cases}"


def _total(found: Sequence[Count]) -> Count:
    return Count("", "", sum(one.cases for one in found), sum(one.gaps for one in found))


def _table(heads: list[str], rows: Iterable[list[str]], n_texts: int = 1) -> list[str]:
    """Format a Markdown table whose first ``n_texts`` columns are text and whose other columns are numbers."""
    lines = [heads, [*["---"] * n_texts, *["---:"] * (len(heads) - n_texts)], *rows]
    return [f"| {' | '.join(row)} |" for row in lines]


def _gaps() -> list[str]:
    """Return the section about the listed gaps, by missing feature."""
    listed = gaps.read()
    if not listed:
        return ["Every recorded answer is equal."]
    waiting = Counter((gap.needs, gap.release, gap.theme) for gap in listed for _ in gap.cases)
    rows = [[needs, release, theme, str(n)] for (needs, release, theme), n in sorted(waiting.items())]
    return [
        *_table(["waits for", "release", "theme", "cases"], rows, 3),
        "",
        "Which cases, and in which parts they differ: [gaps.toml](../tests/conformance/gaps.toml).",
    ]


def with_line(readme: str, text: str) -> str:
    """Return README with the totals between its markers; README without markers is unchanged."""
    return _LINE.sub(lambda found: f"{found[1]}{text}\n{found[2]}", readme)


def written_anew() -> dict[Path, str]:
    """Return the up-to-date text of the page and of README."""
    found, sequences = counts(), sequence_counts()
    return {PAGE: page(found, sequences), README: with_line(README.read_text(), line(found, sequences))}


def run(args: argparse.Namespace) -> int:
    """Write the page and the line in README, or with ``--check`` report whether they are up to date."""
    made = written_anew()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if not args.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[path])
        print(f"{path.relative_to(ROOT)}: {'out of date' if args.check else 'written'}")
    return 1 if args.check and stale else 0

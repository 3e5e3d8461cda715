"""The page benchmarks/RESULTS.md: written from results, and read by the pages that quote its figures."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from benchmarks.rows import Row

#: The rows of benchmarks.scale, which become columns: ``50 nodes: load`` and ``exponent: load``.
_SCALE: Final = re.compile(r"([\d,]+ nodes|exponent): (.*)")


class Result(NamedTuple):
    """A row, and its time as a multiple of the last release's; None if that was not measured."""

    row: Row
    against: float | None


class Section(NamedTuple):
    """The results below a heading, and the reasons why something was not measured."""

    title: str
    results: Sequence[Result]
    problems: Sequence[str] = ()


class Environment(NamedTuple):
    """The date, the commits and the machine of a run."""

    date: str
    commit: str
    base: str
    processor: str
    versions: Sequence[str]


def page(sections: Sequence[Section], environment: Environment) -> str:
    """Return the whole page as Markdown."""
    base = environment.base
    lines = [
        "# Results of the benchmarks",
        "",
        "This page is for people who want to know how fast `kschedctl` is. `python -m benchmarks.results` writes it,",
        "and [README.md](README.md) describes what is measured.",
        "",
        f"Measured on {environment.date} at commit {environment.commit}, on {environment.processor}, with",
        f"{', '.join(environment.versions)}.",
        "",
        "Times are CPU times, unless the unit is *wall*: other programs used the machine as well. The last column is",
        f"the time as a multiple of that of `{base}`, measured in turns with it: below 1 is faster. For memory, it is",
        "the multiple of the memory.",
    ]
    for section in sections:
        table = _scale_table if any(_SCALE.fullmatch(one.row.what) for one in section.results) else _table
        lines += ["", f"## {section.title}", "", *table(section.results, base)]
        lines += [line for problem in section.problems for line in ("", f"Not measured: {problem}")]
    return "\n".join(lines) + "\n"


def _table(results: Sequence[Result], base: str) -> Iterator[str]:
    compared = any(one.against is not None for one in results)
    yield "| measured | result | notes |" + (f" `{base}` |" if compared else "")
    yield "|---|--:|---|" + ("--:|" if compared else "")
    for row, against in results:
        last = f" {f'{against:.2f}' if against is not None else ''} |" if compared else ""
        yield f"| {row.what} | {row.figure} | {row.note} |{last}"


def _scale_table(results: Sequence[Result], _: str) -> Iterator[str]:
    """Yield a row per answer with a column per size."""
    cells: dict[str, dict[str, str]] = {}
    for row, _ratio in results:
        column, what = row.what.partition(": ")[::2]
        cells.setdefault(what, {})[column] = row.figure
    columns = list(dict.fromkeys(column for found in cells.values() for column in found))
    yield f"| answer | {' | '.join(columns)} |"
    yield f"|---|{'--:|' * len(columns)}"
    for what, by_column in cells.items():
        yield f"| {what} | {' | '.join(by_column.get(column, '') for column in columns)} |"


def figures(text: str) -> dict[str, str]:
    """Return the figures of a page by what was measured, and its ``date``."""
    found = {"date": re.findall(r"Measured on (\S+)", text)[0]}
    columns: list[str] = []
    for line in text.splitlines():
        what, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = cells
        elif what.startswith("---"):
            continue
        elif "result" in columns:
            found[what] = cells[columns.index("result")]
        else:
            found |= {f"{column}: {what}": cell for column, cell in zip(columns, cells, strict=True)}
    return found


def for_readme(found: Mapping[str, str]) -> str:
    """Return the sentences about speed in README."""
    decision = found["a pod of the kind plain, 5,000 nodes"]
    theirs = found["kube-scheduler: a pod of the kind plain placed, 5,000 nodes and 150,000 pods"]
    return (
        f"Measured on {found['date']}, as CPU time: with 5,000 nodes and 150,000 pods, one decision takes {decision}; "
        f"for placing a pod, kube-scheduler's own code takes {theirs.removesuffix(' ours')} as long. "
        f"With 50,000 nodes and 1,000,000 pods, loading takes {found['50,000 nodes: load']} and the first `explain` "
        f"{found['50,000 nodes: first explain']}: [all results](benchmarks/RESULTS.md)."
    )


def for_serve(found: Mapping[str, str]) -> str:
    """Return the sentence about speed in docs/serve.md."""
    what = "1,000 nodes, 50 clients"
    return (
        f"With 1,000 nodes and 3,000 pods, an explanation costs {found[f'CPU time of an answer, {what}']} of CPU time, "
        f"and the server with two\nworkers uses {found[f'memory of a server, {what}']} (measured on {found['date']}); "
        "`python -m benchmarks.serve` measures your machine."
    )


#: The pages that quote figures, between ``<!-- speed -->`` and ``<!-- /speed -->``.
QUOTES: Final = {"README.md": for_readme, "docs/serve.md": for_serve}

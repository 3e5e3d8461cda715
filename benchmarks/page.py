"""A page of many nodes: its size, and how fast a browser opens it and filters its tables: python -m benchmarks.page"""

import argparse
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks import synthetic
from benchmarks.rows import Row, report
from tests.browser.browser import Browser, Look, missing_programs, script
from tests.cli.in_process import run

COMMANDS: Final = {"nodes": ("nodes",), "explain": ("explain", synthetic.PENDING, "-A")}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--repeat", type=int, default=5, help="the median of so many is shown (5)")
    if missing := missing_programs():
        parser.error(missing)
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the wall-clock time until a page is open; notes have its size, and the times to unfold and filter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        snapshot = synthetic.write_snapshot(folder, args.nodes)
        with Browser(folder / "profile") as browser:
            for command, arguments in COMMANDS.items():
                page = folder / f"{command}.html"
                page.write_text(run(*arguments, "-o", "html", "--snapshot", str(snapshot)).out)
                opened, note = _times(browser, page, args.repeat)
                note = f"{page.stat().st_size / 1e6:.2f} MB; {note}"
                yield Row(f"page of {command} opened, {args.nodes:,} nodes", opened, "ms wall", note)


def _times(browser: Browser, page: Path, repeat: int) -> tuple[float, str]:
    browser.look(Look(1280, "light"))
    rows = 0
    times: list[tuple[float, float, float]] = []
    for _ in range(repeat):
        browser.open(page)
        # The first frame after the load event.
        opened = browser.evaluate("new Promise(requestAnimationFrame).then(() => performance.now())")
        rows, unfolded, filtered = browser.evaluate(script("filtering_time"))
        times.append((opened, unfolded, filtered))
    opened, unfolded, filtered = (statistics.median(column) for column in zip(*times, strict=True))
    return opened, f"a table of {rows:,} rows unfolded in {unfolded:.0f} ms and filtered in {filtered:.0f} ms"


if __name__ == "__main__":
    main()

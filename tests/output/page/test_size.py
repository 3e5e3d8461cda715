"""Pages of large clusters are small enough to be attached to a ticket."""

from pathlib import Path

import pytest

from benchmarks import synthetic
from tests.cli.in_process import run

N_NODES = 5_000
MOST_BYTES = 5_000_000


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write_snapshot(tmp_path_factory.mktemp("snapshot"), N_NODES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("nodes",),
        ("explain", "-A"),
        ("explain", "-A", "--why"),
        ("pending",),
        ("simulate",),
        ("capacity", "-A"),
        ("drain", "node-1", "--ignore-daemonsets"),
        ("diff", "-A", "--cordon", "node-1*"),
        ("verify",),
    ],
    ids=" ".join,
)
def test_pages_of_5000_nodes_are_below_5_megabytes(command: tuple[str, ...], snapshot: Path) -> None:
    page = run(*command, "-o", "html", "--snapshot", str(snapshot)).out
    assert f"{N_NODES}" in page.replace(",", "")
    assert len(page.encode()) < MOST_BYTES

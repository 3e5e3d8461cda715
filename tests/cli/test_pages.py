"""``-o html`` of each command: the answer is the title, the charts are there, and so is every text of the tables."""

import lxml.html
import pytest

from tests.cli.in_process import run

SHOP = ("--snapshot", "fixtures/shop/cluster")
MAP = "Map of the nodes"
#: Headings of tables of which the page has charts.
REPLACED = ("other candidates", "lost at")


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("command", "captions"),
    [
        (("explain", "shop/search-3", *SHOP), [MAP, "Resources of node-8"]),
        (
            ("explain", "-f", "fixtures/shop/manifests/checkout.yaml", *SHOP),
            [MAP, "Matching pods by topology.kubernetes.io/zone, maxSkew 1", "Resources of node-8", "Scores by plugin"],
        ),
        (("explain", "shop/search-3", "--node", "node-2", "--why", *SHOP), [MAP, "Resources of node-2"]),
        (("preempt", "shop/search-3", *SHOP), [MAP, "Candidates"]),
        (("nodes", *SHOP), [MAP]),
        (("nodes", "node-8", *SHOP), ["Resources of node-8"]),
        (("pending", *SHOP), ["Pods by group", MAP]),
        (("capacity", "-f", "fixtures/shop/manifests/checkout.yaml", *SHOP), [MAP, "Copies by node"]),
        (("capacity", "-A", *SHOP), ["Further copies by workload"]),
        (("volumes", "-A", "--snapshot", "fixtures/volumes/conflict"), ["Claims by storage class"]),
        (("volumes", "shop/figures", "--snapshot", "fixtures/volumes/conflict"), [MAP]),
        (("devices", "--snapshot", "fixtures/devices/cluster"), [MAP, "Devices by pool"]),
        (("devices", "ml/train", "--snapshot", "fixtures/devices/cluster"), [MAP]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_page_has_the_answer_and_its_charts(command: tuple[str, ...], captions: list[str]) -> None:
    page = lxml.html.fromstring(run(*command, "-o", "html").out)
    text = run(*command, columns=1000).out
    assert words(page.cssselect("h1")[0].text_content()) == words(text.split("\n", 1)[0])
    assert [words(each.text_content()) for each in page.cssselect("figcaption")] == captions
    shown = words(page.text_content())
    for line in text.splitlines():
        # The page has suggested commands of its own, and more than the text without -o wide.
        if not any(part in line for part in ("kschedctl", " · ", "-o wide")):
            missing = [cell for cell in words_of_columns(line) if cell not in shown and cell not in REPLACED]
            assert not missing, line


def words_of_columns(line: str) -> list[str]:
    """Return the texts of a line that two or more spaces separate."""
    return [words(cell) for cell in line.split("  ") if cell.strip()]

"""Tables in little room: nothing is lost, no name is broken, and no text leaves its column."""

import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.output.grid import Printed, grid
from kschedctl.questions.document import Table, table
from tests.example_counts import scaled
from tests.questions.printing import lines

GKE = [f"gke-prod-cluster-default-pool-1a2b3c4d-{end}" for end in ("x7k2", "b2kk", "9qzl")]
POOLS = [*GKE, "gke-prod-cluster-gpu-pool-9f8e7d6c-kmhs"]
EKS = [f"ip-10-0-{end}.eu-central-1.compute.internal" for end in ("143-201", "4-20", "7-7")]
AKS = [f"aks-nodepool1-12345678-vmss{end}" for end in ("000000", "00000a", "000013")]
SHORT = ["node-1", "node-2", "cp"]
PODS = ["shop/web-7f9c6d5b84-x2v9q", "shop/web-7f9c6d5b84-tt4hc", "kube-system/coredns-5dd5756b68-r9cjm", "data/db-0"]
VOLUMES = [f"pvc-{end}-4c1d-9a7e-2f3a4b5c6d7e" for end in ("0b1c2d3e-aaaa", "0b1c2d3e-bbbb", "9e8d7c6b-aaaa")]
TAINT = "node-role.kubernetes.io/control-plane:NoSchedule"
PLUGINS = ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "PodTopologySpread x2", "InterPodAffinity x2")
UUID_NOTE = "  *: the rest of a UUID, which -o wide shows"


def scores(names: list[str]) -> Table:
    rows = [(name, "634", "87", "91", "200", "0") for name in names]
    return table(("node", "score", *PLUGINS), rows, numeric=range(1, 6), names_split=True, identifiers=(0,))


def _cells(draw: st.DrawFn, nodes: Sequence[str], kind: str) -> st.SearchStrategy[tuple[str, ...]]:
    node, pod = st.sampled_from(nodes), st.sampled_from(PODS)
    reasons = st.sampled_from(
        (
            "Insufficient cpu: wants 2.5 cpu, free 0.27 to 1.02 of 3.92",
            f"taint {TAINT} is not tolerated",
            "is scheduled to {node}",
            "{node}, {node} and 6 more are cordoned; {pod} is pending",
            "evicts {pod}, then is scheduled to {node}; the volume {volume} moves with it",
            "-",
            "",
        )
    )
    text = st.builds(lambda text, node, pod: text.format(node=node, pod=pod, volume=VOLUMES[0]), reasons, node, pod)
    line = {
        "node": st.one_of(node, st.just("-")),
        "place": st.one_of(node, st.just("nowhere: no controller recreates it")),
        "pod": pod,
        "volume": st.sampled_from(VOLUMES),
        "number": st.integers(0, 10**6).map(str),
        "text": text,
    }[kind]
    return st.lists(line, min_size=1, max_size=2 if kind == "text" else 1).map(tuple)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    nodes = draw(st.sampled_from((GKE, POOLS, EKS, AKS, SHORT)))
    others = st.sampled_from(("node", "place", "pod", "volume", "number", "text"))
    kinds = [draw(st.sampled_from(("node", "pod"))), *draw(st.lists(others, min_size=1, max_size=6))]
    row = st.tuples(*(_cells(draw, nodes, kind) for kind in kinds))
    rows = draw(st.lists(row, min_size=1, max_size=5))
    of = {kind: {i for i, each in enumerate(kinds) if each == kind} for kind in kinds}
    return table(
        [f"{kind}{i}" for i, kind in enumerate(kinds)],
        rows,
        numeric=of.get("number", ()),
        identifiers={i for kind in ("node", "place", "pod", "volume") for i in of.get(kind, ())},
    )


@given(tables(), st.sampled_from((80, 100, 140, 160)), st.booleans())
@settings(max_examples=scaled(300))
def test_every_cell_is_whole_in_its_column(shown: Table, width: int, in_full: bool) -> None:
    printed = list(grid(shown, width, in_full=in_full))
    assert max(len(line) for texts, _ in printed for line in texts) <= width
    cuts, rest = _notes(printed)
    assert not (in_full and (UUID_NOTE,) in [tuple(texts) for texts, _ in printed])
    if len(rest) == len(shown.rows):
        assert not cuts
        for row, (texts, _) in zip(shown.rows, rest, strict=True):
            whole = [(f"{heading}:", *cell) for heading, cell in zip(shown.headings, row, strict=True) if any(cell)]
            assert _dense(texts) == _dense(line for cell in whole for line in cell)
        return
    told: dict[int, tuple[tuple[str, ...], ...]] = dict.fromkeys(range(len(shown.rows)), ())
    for part in _parts(rest):
        for i, cells in enumerate(part):
            # Every part repeats the first column.
            told[i] += cells[1:] if told[i] else cells
    for i, row in enumerate(shown.rows):
        for heading, cell, found in zip(shown.headings, row, told[i], strict=True):
            assert _is_told(_dense(found), [word for line in cell for word in line.split()], cuts.get(heading), in_full)


def _notes(printed: Sequence[Printed]) -> tuple[dict[str, tuple[str, str]], list[Printed]]:
    """Return the omitted start and end by column, and what follows the notes."""
    # A note that is too wide for the terminal continues below its headings.
    lines = "\n".join(printed[0][0]).replace(":\n  ", ": ").splitlines()
    notes = [found for line in lines if (found := re.fullmatch(r"  ([a-z0-9, ]+): (\S*)\*(\S*)", line))]
    if not notes and printed[0][0] != [UUID_NOTE]:
        return {}, list(printed)
    return {heading: (note[2], note[3]) for note in notes for heading in note[1].split(", ")}, list(printed[1:])


def _parts(printed: Sequence[Printed]) -> Iterator[list[tuple[tuple[str, ...], ...]]]:
    """Yield the cells of each part by row; blank lines separate parts, and blanks from top to bottom the columns."""
    texts = [texts for texts, _ in printed]
    ends = [i for i, each in enumerate(texts) if each == [""]]
    for start, end in zip([0, *(i + 1 for i in ends)], [*ends, len(texts)], strict=True):
        part = texts[start:end]
        whole = [line for each in part for line in each]
        width = max(map(len, whole))
        blank = "".join(" " if all(line[i : i + 1] in ("", " ") for line in whole) else "x" for i in range(width))
        spans = [found.span() for found in re.finditer(r"x(?: ?x)*", blank)]
        yield [tuple(tuple(line[a:b].strip() for line in row) for a, b in spans) for row in part[1:]]


def _dense(texts: Sequence[str] | Iterator[str]) -> str:
    return re.sub(r"\s", "", "".join(texts))


def _is_told(text: str, words: Sequence[str], cut: tuple[str, str] | None, in_full: bool) -> bool:
    """Report whether a text consists of words, each in full or short."""
    if not words:
        return not text
    name = words[0].rstrip(",;:")
    forms = {name}
    if cut and name.startswith(cut[0]) and name.endswith(cut[1]):
        middle = name[len(cut[0]) : len(name) - len(cut[1])]
        forms |= {middle, f"{'*' * bool(cut[0])}{middle}{'*' * bool(cut[1])}"} if middle else set()
    if not in_full and name in VOLUMES:
        # Two of the UUIDs begin with the same 8 digits.
        forms |= {f"{name[:12]}*", f"{name[:17]}*"}
    told = (form + words[0][len(name) :] for form in forms)
    return any(text.startswith(each) and _is_told(text[len(each) :], words[1:], cut, in_full) for each in told)


@pytest.mark.parametrize("width", [20, 30, 40, 60])
@pytest.mark.parametrize("names", [GKE, EKS, SHORT], ids=["gke", "eks", "short"])
def test_narrow_terminals(names: list[str], width: int) -> None:
    text = " ".join(lines([scores(names)], width)).split()
    cut = next((word for word in text if "*" in word), "*")
    start, _, end = cut.partition("*")
    for name in names:
        rest = name[len(start) : len(name) - len(end)]
        assert {name, rest, f"{'*' * bool(start)}{rest}{'*' * bool(end)}"} & set(text)
    for heading in PLUGINS:
        assert heading in " ".join(text) or set(re.findall("[A-Z][a-z]+", heading)) <= set(text)


def test_ladder_of_layouts() -> None:
    note = "  node: gke-prod-cluster-default-pool-1a2b3c4d-*"
    assert lines([scores(GKE)], 70)[:2] == [note, "  node  score       Node        Node        Pod        Inter"]
    # In several parts, each with the names of the rows.
    assert lines([scores(GKE)], 50)[-6:] == [
        "  node        Inter",
        "                Pod",
        "        Affinity x2",
        "  x7k2            0",
        "  b2kk            0",
        "  9qzl            0",
    ]
    assert lines([scores(GKE)], 20)[:4] == [
        "  node:",
        "    gke-prod-cluster-default-pool-1a2b3c4d-x7k2",
        "    score: 634",
        "    NodeResourcesFit:",
    ]


def test_names_in_sentences_are_whole() -> None:
    rows = [("1", f"uncordon node {GKE[0]}", f"is scheduled to {GKE[0]}"), ("2", "wait", f"is scheduled to {GKE[1]}.")]
    assert lines([table(("", "change", "then"), rows, numeric=(0,))], 80) == [
        "  1",
        f"    change: uncordon node {GKE[0]}",
        f"    then: is scheduled to {GKE[0]}",
        "  2",
        "    change: wait",
        f"    then: is scheduled to {GKE[1]}.",
    ]


def test_uuids_are_shortened_first_and_only_where_another_form_shows_them() -> None:
    rows = [(f"data/data-postgres-{i}", name, GKE[i]) for i, name in enumerate(VOLUMES)]
    shown = table(("claim", "volume", "node"), rows, identifiers=range(3))
    assert lines([shown], 100)[:3] == [
        UUID_NOTE,
        "  claim                 volume              node",
        "  data/data-postgres-0  pvc-0b1c2d3e-aaaa*  gke-prod-cluster-default-pool-1a2b3c4d-x7k2",
    ]
    assert VOLUMES[0].removeprefix("pvc-") in "\n".join(
        line for texts, _ in grid(shown, 100, in_full=True) for line in texts
    )


def test_labels_are_broken_before_the_table_is() -> None:
    rows = [("3", "shop/web-7f9c6d5b84-x2v9q", f"taint {TAINT} is not tolerated")] * 2
    assert lines([table(("pods", "names", "reason"), rows, numeric=(0,), identifiers=(1,))], 70)[1:4] == [
        "     3  shop/web-7f9c6d5b84-x2v9q  taint node-role.kubernetes.io/",
        "                                   control-plane:NoSchedule is not",
        "                                   tolerated",
    ]

"""Nodes compared as columns, held against comparing them one by one."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kschedctl.questions.diff.answer import NodeOutcomeData
from kschedctl.questions.diff.nodes import NodeChanges, NodeColumns
from kschedctl.scheduler.cycle.decision import Decision
from tests.builders import decide, make_cluster, make_node, make_pod
from tests.strategies import World, worlds


def one_by_one(decision: Decision) -> dict[str, NodeOutcomeData]:
    """Return the outcome of every node, computed node by node."""
    scores = decision.scores
    scored = {} if scores is None else {int(row): i for i, row in enumerate(scores.rows)}
    out = {}
    for row, name in enumerate(decision.cluster.nodes.names):
        status, i = decision.verdict(row).status, scored.get(row)
        given = {} if scores is None or i is None else scores.normalized
        weighted = {} if scores is None else {p: int(n[i]) * scores.weights[p] for p, n in given.items()}
        out[name] = NodeOutcomeData(
            fits=decision.verdict(row).feasible,
            plugin=status.plugin,
            reasons=status.reasons,
            score=None if scores is None or i is None else int(scores.total[i]),
            scores={plugin: score for plugin, score in weighted.items() if score},
        )
    return out


@given(
    worlds("requests", "spread", "podAffinity", of_nodes=("labels", "taints"), pending=1), st.integers(0, 3), st.data()
)
def test_columns_say_what_nodes_say(world: World, n_gone: int, data: st.DataObject) -> None:
    pod = world.pods[-1]
    kept = data.draw(st.permutations(world.nodes))[n_gone:]
    first, second = (decide(pod, make_cluster(nodes, world.pods[:-1])) for nodes in (world.nodes, kept))
    sides = [NodeColumns.of(decision) for decision in (first, second)]
    before, after = ({} if side is None else one_by_one(d) for side, d in zip(sides, (first, second), strict=True))
    changes = NodeChanges(*sides)
    expected = {
        name: (before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
        and (
            (name in before and name in after)
            or any(o is not None and o.fits for o in (before.get(name), after.get(name)))
        )
    }
    assert {node.name: (node.before, node.after) for node in changes.data()} == expected
    fits = {name: tuple(side is not None and side.fits for side in pair) for name, pair in expected.items()}
    assert set(changes.gained) == {name for name, pair in fits.items() if pair == (False, True)}
    assert set(changes.lost) == {name for name, pair in fits.items() if pair == (True, False)}
    told = Counter(
        (old.reasons, new.reasons)
        for old, new in expected.values()
        if old is not None and new is not None and not old.fits and not new.fits
    )
    assert Counter({(o.reasons, n.reasons): k for (o, n), k in changes.said_otherwise.items()}).total() == told.total()


def test_a_side_without_nodes_changes_nothing() -> None:
    nothing = decide(make_pod(), make_cluster())
    assert NodeColumns.of(nothing) is None
    assert not NodeChanges(None, None)
    there = NodeColumns.of(decide(make_pod(), make_cluster([make_node("a")])))
    assert NodeChanges(None, there).gained == ("a",)
    assert NodeChanges(there, None).lost == {"a": ""}

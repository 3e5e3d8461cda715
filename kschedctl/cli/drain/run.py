"""What ``drain`` does once its options are read: load, drain, answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from kschedctl.api.selectors import matches
from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.options.label_query import parse_label_query
from kschedctl.cli.progress import counting
from kschedctl.cli.provenance import provenance
from kschedctl.cli.shell import command_line
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import InputError
from kschedctl.face import SchedulingCluster
from kschedctl.report.document import Document
from kschedctl.report.drain.answer import drain_answer
from kschedctl.report.drain.data import Drained
from kschedctl.report.drain.text import document
from kschedctl.report.envelope import Compound
from kschedctl.report.frame import AnswerView
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.scheduler.missing import require_listed
from kschedctl.simulate.attempt import Attempt
from kschedctl.simulate.choice import by_seed, first_by_name
from kschedctl.simulate.drain import DrainedNode, DrainOptions, drain, surge_nodes
from kschedctl.simulate.simulation import Simulation
from kschedctl.whatif.targets import find_nodes, find_zone


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """Which nodes are meant: all that are named, have the labels or are in the zone.

    Attributes
    ----------
    names : tuple of str
        Names and patterns.
    selector : str
        A label selector; empty for none.
    zone : str
        A zone; empty for none.
    """

    names: tuple[str, ...]
    selector: str
    zone: str

    def of(self, cluster: Cluster) -> list[str]:
        """Their names, each once, in the order in which they are given.

        Raises
        ------
        InputError
            Where a name, a pattern, the selector or the zone means none.
        """
        rows = [row for name in self.names for row in find_nodes(cluster, name)]
        if self.selector:
            selector = parse_label_query(self.selector)
            found = [i for i, node in enumerate(cluster.nodes.objects) if matches(selector, node.metadata.labels)]
            if not found:
                raise InputError(f'no node has the labels "{self.selector}"', path="--selector")
            rows += found
        if self.zone:
            rows += find_zone(cluster, self.zone)
        return [cluster.nodes.names[row] for row in dict.fromkeys(rows)]

    def arguments(self) -> list[str]:
        """The arguments that select them."""
        selector = ["--selector", self.selector] if self.selector else []
        return [*self.names, *selector, *(["--zone", self.zone] if self.zone else [])]


class DrainReply(Reply):
    """One run of ``drain``.

    Parameters
    ----------
    which : NodeSelection
        The nodes.
    chosen : ChosenCluster
        The cluster.
    options : DrainOptions
        How they are drained.
    surge : int
        How many nodes are added before.
    seed : int or None
        Draws among equal nodes; ``None`` for the first by name.
    """

    def __init__(
        self, which: NodeSelection, chosen: ChosenCluster, options: DrainOptions, *, surge: int, seed: int | None
    ) -> None:
        self._which = which
        self._chosen = chosen
        self._options = options
        self._surge = surge
        self._seed = seed

    def value(self) -> Drained | Compound:
        """What becomes of the nodes and their pods."""
        return self._answer

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        questions = () if wide else tuple(self._questions())
        return document(self._answer, AnswerView(now=datetime.now(UTC), every=wide, questions=questions))

    def outcome(self) -> Outcome:
        """Whether all nodes can be drained and all pods that move find a node."""
        answer = self._answer
        yes = all(node.drained for node in answer.nodes) and not answer.not_tried and not answer.waiting
        return Outcome(yes=yes, complete=answer.complete, interrupted=not answer.finished)

    @cached_property
    def _loaded(self) -> SchedulingCluster:
        cluster = self._chosen.needing_nodes(self._chosen.load())
        require_listed(cluster.cluster, "Pod")
        return cluster

    @cached_property
    def _nodes(self) -> list[str]:
        return self._which.of(self._loaded.cluster)

    @cached_property
    def _settled(self) -> tuple[Simulation, Cluster, int]:
        """The cluster once those pods were tried that wait already: what becomes of them is not the drain's doing."""
        simulation = self._loaded.simulate(choose=first_by_name if self._seed is None else by_seed(self._seed))
        for _ in simulation:
            pass
        return simulation, simulation.cluster, len(simulation.timeline)

    @cached_property
    def _run(self) -> tuple[list[DrainedNode], list[Attempt], bool]:
        """What became of each node, all attempts, and whether it came to its end."""
        simulation, cluster, _ = self._settled
        first = cluster.nodes.objects[cluster.nodes.row[self._nodes[0]]]
        drained: list[DrainedNode] = []
        attempts: list[Attempt] = []
        steps = drain(simulation, self._nodes, self._options, surge_nodes(first, self._surge))
        try:
            for step in counting(steps, "steps"):
                if isinstance(step, DrainedNode):
                    drained.append(step)
                else:
                    attempts.append(step)
        except KeyboardInterrupt:
            return drained, attempts, False
        return drained, attempts, True

    @cached_property
    def _answer(self) -> Drained:
        simulation, before, since = self._settled
        drained, attempts, finished = self._run
        done = {node.node for node in drained}
        return drain_answer(
            before,
            simulation,
            drained,
            attempts,
            provenance(self._loaded, many=True),
            chance="the first by name is taken" if self._seed is None else f"seed {self._seed} draws",
            rolling=self._options.rolling,
            not_tried=[name for name in self._nodes if name not in done],
            since=since,
            finished=finished,
        )

    def _questions(self) -> Iterator[tuple[str, str]]:
        words = [*self._which.arguments(), *self._options.flags()]
        if self._surge:
            words += ("--surge", str(self._surge))
        if self._seed is not None:
            words += ("--seed", str(self._seed))
        words += self._chosen.arguments()
        answer = self._answer
        if any(node.moved for node in answer.nodes):
            yield "What happens when", command_line("drain", *words, "-o", "wide")
        missing = sorted(
            {each.message.partition("(use ")[2].partition(" ")[0] for n in answer.nodes for each in n.refusals}
        )
        if missing:
            yield "All the same", command_line("drain", *missing, *words)

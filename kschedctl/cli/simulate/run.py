"""What ``simulate`` does once its options are read: load, run, answer, save."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property

from kschedctl.cli.manifests import load_with_manifests
from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.options.manifests import ManifestOptions
from kschedctl.cli.progress import counting
from kschedctl.cli.provenance import provenance
from kschedctl.cli.shell import command_line
from kschedctl.cli.streams import tell
from kschedctl.face import SchedulingCluster
from kschedctl.report.document import Document
from kschedctl.report.envelope import Compound
from kschedctl.report.frame import AnswerView
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.report.simulate.answer import simulation_answer
from kschedctl.report.simulate.data import Simulated
from kschedctl.report.simulate.text import document
from kschedctl.simulate.attempt import Attempt
from kschedctl.simulate.choice import by_seed, first_by_name
from kschedctl.simulate.simulation import Simulation
from kschedctl.snapshot.capture import capture
from kschedctl.snapshot.capture_files import check_target, write_capture
from kschedctl.snapshot.cluster_reader import ClusterReader


class SimulateReply(Reply):
    """One run of ``simulate``.

    Parameters
    ----------
    which : ManifestOptions
        What is created.
    chosen : ChosenCluster
        The cluster.
    seed : int or None
        Draws among equal nodes; ``None`` for the first by name.
    save : str
        Where the cluster is written as it is in the end; empty for nowhere.
    force : bool
        Whether files of an earlier run are replaced there.
    """

    def __init__(
        self, which: ManifestOptions, chosen: ChosenCluster, *, seed: int | None, save: str, force: bool
    ) -> None:
        self._which = which
        self._chosen = chosen
        self._seed = seed
        self._save = save
        self._force = force

    def value(self) -> Simulated | Compound:
        """What came of the pods."""
        return self._answer

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        _, simulation, _ = self._run
        questions = () if wide else tuple(self._questions())
        return document(
            self._answer, AnswerView(now=datetime.now(UTC), every=wide, questions=questions), simulation.began
        )

    def outcome(self) -> Outcome:
        """Whether all pods got a node."""
        answer = self._answer
        return Outcome(yes=not answer.waiting, complete=answer.complete, interrupted=not answer.finished)

    @cached_property
    def _loaded(self) -> SchedulingCluster:
        return load_with_manifests(self._which, self._chosen)

    @cached_property
    def _run(self) -> tuple[list[Attempt], Simulation, bool]:
        """All attempts, the simulation in the end, and whether that came to its end."""
        if self._save:
            check_target(self._save, force=self._force)
        choose = first_by_name if self._seed is None else by_seed(self._seed)
        simulation = self._loaded.simulate(choose=choose)
        attempts: list[Attempt] = []
        try:
            attempts.extend(counting(simulation, "pods"))
        except KeyboardInterrupt:
            return attempts, simulation, False
        if self._save:
            self._write(simulation)
        return attempts, simulation, True

    def _write(self, simulation: Simulation) -> None:
        reader = ClusterReader(simulation.cluster, self._loaded.snapshot.summary)
        write_capture(capture(reader), self._save, force=self._force)
        tell(f"{self._save}: the cluster as it is in the end")

    @cached_property
    def _answer(self) -> Simulated:
        attempts, simulation, finished = self._run
        cluster = self._loaded
        chance = "the first by name is taken" if self._seed is None else f"seed {self._seed} draws"
        return simulation_answer(
            cluster.cluster, simulation, attempts, provenance(cluster, many=True), chance=chance, finished=finished
        )

    def _questions(self) -> Iterator[tuple[str, str]]:
        words = [*(self._which.manifests or ()), *(w for f in self._which.filename or () for w in ("-f", f))]
        if self._which.namespace:
            words += ("-n", self._which.namespace)
        if self._seed is not None:
            words += ("--seed", str(self._seed))
        words += self._chosen.arguments()
        if self._answer.attempts:
            yield "What happened when", command_line("simulate", *words, "-o", "wide")
        waiting = [pod for group in self._answer.waiting for pod in group.pods]
        if waiting and self._save:
            yield "Why it waits", command_line("explain", waiting[0], "--snapshot", self._save)
        elif self._answer.attempts and not self._save:
            yield "Go on from there", command_line("simulate", *words, "--save", "after")

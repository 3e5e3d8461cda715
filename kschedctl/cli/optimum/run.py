"""What ``optimum`` does once its options are read: load, simulate, solve, answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property

from kschedctl.cli.manifests import load_with_manifests
from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.options.manifests import ManifestOptions
from kschedctl.cli.progress import busy
from kschedctl.cli.provenance import provenance
from kschedctl.cli.shell import command_line
from kschedctl.face import SchedulingCluster
from kschedctl.optimum.buy import buy
from kschedctl.optimum.catalog import read_catalog
from kschedctl.optimum.compare import compare
from kschedctl.optimum.emptying import OPTIONS, empty_nodes
from kschedctl.optimum.goals import Last
from kschedctl.optimum.solver import load_solver
from kschedctl.optimum.ways import ways
from kschedctl.report.document import Document
from kschedctl.report.envelope import Compound
from kschedctl.report.frame import AnswerView
from kschedctl.report.optimum.answer import optimum_answer
from kschedctl.report.optimum.buy_answer import purchase_answer
from kschedctl.report.optimum.buy_text import purchase_document
from kschedctl.report.optimum.data import Emptied, Optimum, Purchased
from kschedctl.report.optimum.empty_answer import emptied_answer
from kschedctl.report.optimum.empty_text import emptied_document
from kschedctl.report.optimum.text import document
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.scheduler.scheduler import Scheduler


class _Reply(Reply):
    """What all runs of ``optimum`` have.

    Parameters
    ----------
    which : ManifestOptions
        What is created.
    chosen : ChosenCluster
        The cluster.
    seconds : float
        How long the solver may take.
    """

    def __init__(self, which: ManifestOptions, chosen: ChosenCluster, *, seconds: float) -> None:
        self._which = which
        self._chosen = chosen
        self._seconds = seconds

    @cached_property
    def _loaded(self) -> SchedulingCluster:
        return load_with_manifests(self._which, self._chosen)

    @property
    def _scheduler(self) -> Scheduler:
        """The scheduler over the cluster, as a simulation begins with it."""
        return self._loaded.simulate().scheduler

    def _words(self) -> list[str]:
        words = [*(self._which.manifests or ()), *(w for f in self._which.filename or () for w in ("-f", f))]
        if self._which.namespace:
            words += ("-n", self._which.namespace)
        return [*words, *self._chosen.arguments()]


class OptimumReply(_Reply):
    """One run of ``optimum``.

    Parameters
    ----------
    last : Last
        What decides in the end.
    """

    def __init__(self, which: ManifestOptions, chosen: ChosenCluster, *, last: Last, seconds: float) -> None:
        super().__init__(which, chosen, seconds=seconds)
        self._last = last

    def value(self) -> Optimum | Compound:
        """Both placements."""
        return self._answer

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        questions = () if wide else tuple(self._questions())
        return document(self._answer, AnswerView(now=datetime.now(UTC), every=wide, questions=questions))

    def outcome(self) -> Outcome:
        """Whether the best placement has all pods on nodes."""
        answer = self._answer
        return Outcome(yes=not answer.waiting and not answer.gated, complete=answer.complete)

    @cached_property
    def _answer(self) -> Optimum:
        # Whether the solver is there is known before anything is read.
        load_solver()
        with busy("looking for the best placement"):
            comparison = compare(self._scheduler, seconds=self._seconds, last=self._last)
            found = ways(comparison, seconds=self._seconds)
        return optimum_answer(comparison, found, provenance(self._loaded, many=True))

    def _questions(self) -> Iterator[tuple[str, str]]:
        words = self._words()
        if self._answer.pods:
            yield "What the scheduler does", command_line("simulate", *words)
        if self._answer.placements:
            last = ("--goal", self._last.value) if self._last is not Last.SCORES else ()
            yield "Every pod, in order", command_line("optimum", *words, *last, "-o", "wide")


class PurchaseReply(_Reply):
    """One run of ``optimum --buy``.

    Parameters
    ----------
    catalog : str
        The path of the catalog.
    """

    def __init__(self, which: ManifestOptions, chosen: ChosenCluster, *, catalog: str, seconds: float) -> None:
        super().__init__(which, chosen, seconds=seconds)
        self._catalog = catalog

    def value(self) -> Purchased | Compound:
        """What to buy."""
        return self._answer

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        questions = () if wide else tuple(self._questions())
        return purchase_document(self._answer, AnswerView(now=datetime.now(UTC), every=wide, questions=questions))

    def outcome(self) -> Outcome:
        """Whether all pods have a node then."""
        return Outcome(yes=not self._answer.waiting, complete=self._answer.complete)

    @cached_property
    def _answer(self) -> Purchased:
        load_solver()
        catalog = read_catalog(self._catalog)
        with busy("looking for the cheapest nodes"):
            found = buy(self._scheduler, catalog, seconds=self._seconds)
        return purchase_answer(self._loaded.cluster, found, provenance(self._loaded, many=True))

    def _questions(self) -> Iterator[tuple[str, str]]:
        words = self._words()
        if self._answer.placements:
            yield "Every pod, in order", command_line("optimum", *words, "--buy", self._catalog, "-o", "wide")
        if self._answer.nodes:
            yield (
                "The nodes as manifests",
                command_line("optimum", *words, "--buy", self._catalog, "-o", "jsonpath={.objects}"),
            )


class EmptyingReply(_Reply):
    """One run of ``optimum --minimize nodes``."""

    def value(self) -> Emptied | Compound:
        """Which nodes could be emptied."""
        return self._answer

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        questions = () if wide else tuple(self._questions())
        return emptied_document(self._answer, AnswerView(now=datetime.now(UTC), every=wide, questions=questions))

    def outcome(self) -> Outcome:
        """Whether any could."""
        return Outcome(yes=bool(self._answer.nodes), complete=self._answer.complete)

    @cached_property
    def _answer(self) -> Emptied:
        load_solver()
        with busy("looking for nodes that could be emptied"):
            found = empty_nodes(self._scheduler, seconds=self._seconds)
        return emptied_answer(self._loaded.cluster, found, provenance(self._loaded, many=True))

    def _questions(self) -> Iterator[tuple[str, str]]:
        answer = self._answer
        if answer.nodes:
            flags = OPTIONS.flags()
            nodes = [node.node for node in answer.nodes]
            yield (
                "The drain, step by step",
                command_line("drain", *nodes, *flags, *self._chosen.arguments(), "-o", "wide"),
            )

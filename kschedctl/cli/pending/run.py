"""What ``pending`` does once its options are read: load, group, look for changes, answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property

from kschedctl.api.selectors import matches
from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.options.label_query import parse_label_query
from kschedctl.cli.provenance import provenance
from kschedctl.cli.shell import command_line
from kschedctl.face import SchedulingCluster
from kschedctl.report.document import Document
from kschedctl.report.envelope import Compound
from kschedctl.report.frame import AnswerView
from kschedctl.report.moment import newest_time, taken_at
from kschedctl.report.pending.answer import pending_answer
from kschedctl.report.pending.data import Pending
from kschedctl.report.pending.text import document
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.scheduler.missing import require_listed
from kschedctl.scheduler.pending import pending_pods


class PendingReply(Reply):
    """One run of ``pending``.

    Parameters
    ----------
    chosen : ChosenCluster
        The cluster.
    namespace, selector : str
        Which pods; empty for all.
    changes : int
        So many changes are looked for.
    """

    def __init__(self, chosen: ChosenCluster, namespace: str, selector: str, changes: int) -> None:
        self._chosen = chosen
        self._namespace = namespace
        self._selector = selector
        self._changes = changes

    def value(self) -> Pending | Compound:
        """The pods that wait."""
        return self._answer

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        questions = tuple(self._questions(wide=wide))
        yield from document(self._answer, AnswerView(now=datetime.now(UTC), every=wide, questions=questions))

    def outcome(self) -> Outcome:
        """Whether no pod waits that could not be placed as things are."""
        answer = self._answer
        return Outcome(yes=answer.all_fit, complete=answer.complete)

    @cached_property
    def _loaded(self) -> SchedulingCluster:
        cluster = self._chosen.needing_nodes(self._chosen.load())
        require_listed(cluster.cluster, "Pod")
        return cluster

    @cached_property
    def _until(self) -> datetime:
        """Until when the pods have waited at least: what happened since the snapshot was taken is not known."""
        cluster = self._loaded.cluster
        return taken_at(cluster) or newest_time(cluster) or datetime.now(UTC)

    @cached_property
    def _answer(self) -> Pending:
        cluster = self._loaded
        requirements = parse_label_query(self._selector) if self._selector else ()
        pods = [cluster.pods.pod(index) for index in pending_pods(cluster.cluster)]
        asked = [
            pod for pod in pods if self._namespace in ("", pod.namespace) and matches(requirements, pod.metadata.labels)
        ]
        groups, found = cluster.pending(asked, self._changes)
        decided = ((group.pods[0], group.decision) for group in groups if group.decision is not None)
        missing = tuple(dict.fromkeys(each for pod, made in decided for each in cluster.missing(pod, made)))
        return pending_answer(cluster.cluster, groups, found, provenance(cluster, missing, many=True), self._until)

    def _questions(self, *, wide: bool) -> Iterator[tuple[str, str]]:
        answer = self._answer
        words = list(self._chosen.arguments())
        first = next((group for group in answer.groups if group.result != "notOurs"), None)
        if first is not None:
            yield "One of them", command_line("explain", first.pods[0], *words)
        which = ["-n", self._namespace] if self._namespace else []
        which += ["-l", self._selector] if self._selector else []
        if answer.groups and not wide:
            yield "All groups, and how to change it", command_line("pending", *which, *words, "-o", "wide")

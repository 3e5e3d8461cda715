"""What ``capacity`` does once its options are read: load, fill, answer."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property

from msgspec.structs import replace

from kschedctl.api.pod import Pod
from kschedctl.cli.manifests import Asked
from kschedctl.cli.progress import tracked
from kschedctl.cli.provenance import provenance
from kschedctl.cli.selection import PodSelection
from kschedctl.face import SchedulingCluster
from kschedctl.report.capacity.answer import capacity_answer
from kschedctl.report.capacity.data import CapacityList, PodCapacity
from kschedctl.report.capacity.text import document, list_document
from kschedctl.report.document import Document
from kschedctl.report.envelope import Answer, Compound
from kschedctl.report.frame import AnswerView
from kschedctl.report.render.form import Outcome, Reply


class CapacityReply(Reply):
    """One run of ``capacity``.

    Parameters
    ----------
    which : PodSelection
        What is copied.
    most : int or None
        How many are looked for at the most.
    """

    def __init__(self, which: PodSelection, most: int | None) -> None:
        self._which = which
        self._most = most

    def value(self) -> Answer | Compound:
        """The answer, or a list where several are meant."""
        answers = self._answers
        return answers[0] if len(answers) == 1 and self._which.named else CapacityList(items=tuple(answers))

    def document(self, *, wide: bool) -> Document:
        """One in full, several as a table."""
        answers = self._answers
        now = datetime.now(UTC)
        limit = ("--max", str(self._most)) if self._most is not None else ()
        if len(answers) == 1:
            every = self._which.command("capacity", self._asked[0], *limit, "-o", "wide")
            questions = () if wide else (("Every node", every),)
            yield from document(answers[0], AnswerView(now=now, every=wide, questions=questions))
            return
        one = self._which.command("capacity", self._asked[0], *limit)
        yield from list_document(answers, AnswerView(now=now, every=wide, questions=(("One of them", one),)))

    def outcome(self) -> Outcome:
        """Whether at least one more fits of each."""
        answers = self._answers
        return Outcome(yes=all(a.copies for a in answers), complete=all(a.complete for a in answers))

    @cached_property
    def _loaded(self) -> tuple[SchedulingCluster, list[Asked]]:
        return self._which.load()

    @property
    def _asked(self) -> list[Asked]:
        """What is copied: of a workload's pods that are alike one."""
        _, asked = self._loaded
        first: dict[object, Asked] = {}
        for one in asked:
            workload = one.workload
            key = (workload.kind, workload.namespace, workload.name) if workload is not None else one.pod.key
            first.setdefault(key, one)
        return list(first.values())

    @cached_property
    def _answers(self) -> list[PodCapacity]:
        cluster, _ = self._loaded
        return [self._answer(cluster, one) for one in tracked(self._asked, "filling the cluster")]

    def _answer(self, cluster: SchedulingCluster, one: Asked) -> PodCapacity:
        pod = cluster.admit(one.pod, where=one.where).pod
        fresh = replace(pod, spec=replace(pod.spec, node_name=""), status=type(pod.status)())
        found = cluster.capacity(lambda number: _named(fresh, number), self._most)
        name = f"pod {pod.key}"
        if one.workload is not None:
            name = f"{one.workload.kind} {one.workload.namespace}/{one.workload.name}"
        return capacity_answer(name, found, provenance(cluster, cluster.missing(one.pod), pod=one.pod))


def _named(pod: Pod, number: int) -> Pod:
    """A copy with a name that no pod can have, so that it is nobody else's."""
    metadata = replace(pod.metadata, name=f"{pod.metadata.name}+{number + 1}", uid="")
    return replace(pod, metadata=metadata)

"""One side of a comparison, and what it says of pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kschedctl.api.pod import Pod
from kschedctl.cli.manifests import Asked
from kschedctl.cli.provenance import provenance
from kschedctl.face import SchedulingCluster
from kschedctl.findings.finding import Where
from kschedctl.report.diff.answer import SideAnswer
from kschedctl.report.diff.data import SideData
from kschedctl.report.envelope import envelope, together
from kschedctl.report.explain.answer import explanation

Key = tuple[str, str]


@dataclass(slots=True)
class Side:
    """One side, and what it said so far; pods that differ in their name alone are decided for once.

    Attributes
    ----------
    cluster : SchedulingCluster
        The side.
    config : str
        The file with the scheduler's configuration; empty for none.
    given : mapping
        The pods that manifests bring.
    answers : dict
        What it said, by what tells pods apart.
    """

    cluster: SchedulingCluster
    config: str = ""
    given: Mapping[Key, Asked] = field(default_factory=dict)
    answers: dict[object, SideAnswer] = field(default_factory=dict)

    def answer(self, key: Key) -> tuple[object, SideAnswer]:
        """What the side says of a pod, and what tells the pod apart from others.

        Parameters
        ----------
        key : (str, str)
            Namespace and name.
        """
        given = self.given.get(key)
        if given is not None:
            return self._answer(key, given.pod, given.where)
        pods = self.cluster.pods
        index = pods.index.get(key)
        if index is None:
            return None, SideAnswer(None, there=False)
        record = pods.records[index]
        # Pods that have the same spec share it.
        alike = record.class_id, id(record.spec), record.node_name, record.metadata.owner_references
        return self._answer((*alike, record.status.nominated_node_name), pods.pod(index))

    def _answer(self, kind: object, pod: Pod, where: Where = "") -> tuple[object, SideAnswer]:
        found = self.answers.get(kind)
        if found is None:
            found = self.answers[kind] = self._decide(pod, where)
        return kind, found

    def _decide(self, pod: Pod, where: Where) -> SideAnswer:
        cluster = self.cluster
        admitted = cluster.admit(pod, where=where)
        node_name = cluster.node_name(admitted.pod)
        if admitted.pod.spec.scheduler_name not in cluster.configuration.profiles:
            return SideAnswer(None, node_name)
        rests_on = provenance(cluster, cluster.missing(pod))
        found = explanation(cluster.decide(admitted.pod), rests_on, node_name=node_name, admitted=admitted)
        return SideAnswer(found, node_name)

    def data(self) -> SideData:
        """What the side rests on."""
        given = [answer.explanation for answer in self.answers.values() if answer.explanation is not None]
        shared = envelope(self.cluster.cluster, provenance(self.cluster))
        if given:
            cautions = together(given)
            shared["missing"], shared["not_modelled"] = cautions.missing, cautions.not_modelled
        return SideData(**shared, config=self.config)

"""One side of a comparison, and what it says of pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kschedctl.cli.manifests import Asked
from kschedctl.cli.provenance import provenance
from kschedctl.face import SchedulingCluster
from kschedctl.framework.cycle_state import NotModelled
from kschedctl.report.diff.answer import SideAnswer
from kschedctl.report.diff.data import SideData
from kschedctl.report.envelope import envelope
from kschedctl.scheduler.missing import Missing

Key = tuple[str, str]


@dataclass(slots=True)
class Side:
    """One side.

    Attributes
    ----------
    cluster : SchedulingCluster
        The side. Pods that are placed one after another move it on.
    config : str
        The file with the scheduler's configuration; empty for none.
    given : mapping
        The pods that manifests bring.
    missing, not_modelled : dict
        What the answers so far depend on that is not there or not modelled, in the order of finding.
    """

    cluster: SchedulingCluster
    config: str = ""
    given: Mapping[Key, Asked] = field(default_factory=dict)
    missing: dict[Missing, None] = field(default_factory=dict)
    not_modelled: dict[NotModelled, None] = field(default_factory=dict)

    def kind(self, key: Key) -> object:
        """What tells a pod apart from others: pods that differ in their name alone are decided for once.

        Parameters
        ----------
        key : (str, str)
            Namespace and name.
        """
        pods = self.cluster.pods
        if key in self.given:
            return key
        index = pods.index.get(key)
        if index is None:
            return None
        return self.cluster.kind(pods.pod(index))

    def answer(self, key: Key) -> SideAnswer:
        """What the side says of a pod."""
        given, cluster = self.given.get(key), self.cluster
        index = cluster.pods.index.get(key)
        if given is None and index is None:
            return SideAnswer(None, there=False)
        pod, where = (given.pod, given.where) if given is not None else (cluster.pods.pod(index or 0), "")
        admitted = cluster.admit(pod, where=where)
        node_name = cluster.node_name(admitted.pod)
        if admitted.pod.spec.scheduler_name not in cluster.configuration.profiles:
            return SideAnswer(None, node_name)
        decision = cluster.decide(admitted.pod)
        self.missing |= dict.fromkeys(cluster.missing(pod, decision))
        self.not_modelled |= dict.fromkeys(decision.not_modelled)
        return SideAnswer(decision, node_name)

    def place(self, answer: SideAnswer) -> None:
        """Let a pod have the node that it goes to, so that those after it find it there.

        Of several nodes that chance decides among it is the first by name.
        """
        decision = answer.decision
        if decision is not None and decision.schedulable:
            self.cluster = self.cluster.with_bound(decision, decision.best[0])

    def data(self) -> SideData:
        """What the side rests on."""
        shared = envelope(self.cluster.cluster, provenance(self.cluster, tuple(self.missing)), self.not_modelled)
        return SideData(**shared, config=self.config)

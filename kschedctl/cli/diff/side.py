"""One side of a comparison: the options that name it, and what it says of pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from kschedctl.api.pod import Pod
from kschedctl.cli.asking import provenance
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.declared import feature_gates
from kschedctl.cli.selection import Asked
from kschedctl.cli.whatif_options import WhatIfOptions
from kschedctl.face import SchedulingCluster
from kschedctl.report.diff.answer import Answered
from kschedctl.report.diff.data import SideData
from kschedctl.report.explain.answer import explanation
from kschedctl.report.provenance import Provenance, rules_data, snapshot_data, warnings

Key = tuple[str, str]


def other_side(
    first: ClusterOptions,
    snapshot: Sequence[str] | None,
    config: str,
    kubernetes_version: str,
    gates: Sequence[str] | None,
    what_ifs: WhatIfOptions,
) -> ClusterOptions:
    """The options of the second side: what is given, else what the first side has.

    Parameters
    ----------
    first : ClusterOptions
        The first side.
    snapshot, config, kubernetes_version, gates
        The values of ``--against`` and its kin.
    what_ifs : WhatIfOptions
        What is changed on the second side.
    """
    other = replace(
        first,
        config=config or first.config,
        kubernetes_version=kubernetes_version or first.kubernetes_version,
        feature_gates=feature_gates(gates) if gates else first.feature_gates,
        what_ifs=what_ifs,
    )
    if snapshot:
        return replace(other, paths=tuple(snapshot), snapshot_given=True, context="", kubeconfig="")
    return other


def arguments_against(first: ClusterOptions, other: ClusterOptions) -> Iterator[str]:
    """The options that make the second side of the first, to be copied."""
    if other.paths != first.paths:
        for path in other.paths:
            yield from ("--against", path)
    if other.config != first.config:
        yield from ("--against-config", other.config)
    if other.kubernetes_version != first.kubernetes_version:
        yield from ("--against-version", other.kubernetes_version)
    if other.feature_gates != first.feature_gates:
        gates = ",".join(f"{name}={str(value).lower()}" for name, value in other.feature_gates.items())
        yield from ("--against-feature-gates", gates)
    yield from other.what_ifs.arguments()


@dataclass(slots=True)
class Side:
    """One side, and what it said so far; pods that differ in their name alone are decided for once.

    Attributes
    ----------
    cluster : SchedulingCluster
        The side.
    options : ClusterOptions
        The options that name it.
    given : mapping
        The pods that manifests bring.
    answers : dict
        What it said, by what tells pods apart.
    """

    cluster: SchedulingCluster
    options: ClusterOptions
    given: Mapping[Key, Asked] = field(default_factory=dict)
    answers: dict[object, Answered] = field(default_factory=dict)

    def answer(self, key: Key) -> tuple[object, Answered]:
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
            return None, Answered(None, there=False)
        record = pods.records[index]
        # Pods that have the same spec share it.
        alike = record.class_id, id(record.spec), record.node_name, record.metadata.owner_references
        return self._answer((*alike, record.status.nominated_node_name), pods.pod(index))

    def _answer(self, kind: object, pod: Pod, where: str = "") -> tuple[object, Answered]:
        found = self.answers.get(kind)
        if found is None:
            found = self.answers[kind] = self._decide(pod, where)
        return kind, found

    def _decide(self, pod: Pod, where: str) -> Answered:
        cluster = self.cluster
        admitted = cluster.admit(pod, where=where)
        node_name = cluster.node_name(admitted.pod)
        if admitted.pod.spec.scheduler_name not in cluster.configuration.profiles:
            return Answered(None, node_name)
        found = explanation(cluster.decide(admitted.pod), provenance(cluster, pod, None, admitted))
        return Answered(found, node_name)

    def data(self) -> SideData:
        """What the side rests on."""
        cluster = self.cluster
        rests_on = Provenance(
            release_choice=cluster.release_choice,
            paths=cluster.snapshot.paths,
            n_pods=len(cluster.pods),
            warnings=(*cluster.cluster.warnings, *cluster.configuration.warnings),
            changes=cluster.snapshot.changes,
        )
        given = [answer.explanation for answer in self.answers.values() if answer.explanation is not None]
        return SideData(
            rules=rules_data(cluster.release_choice),
            snapshot=snapshot_data(cluster.cluster, rests_on),
            config=self.options.config,
            warnings=warnings(rests_on),
            missing=tuple(dict.fromkeys(chain.from_iterable(e.missing for e in given))),
            not_modelled=tuple(dict.fromkeys(chain.from_iterable(e.not_modelled for e in given))),
        )

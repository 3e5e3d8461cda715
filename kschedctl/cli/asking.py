"""Loading the cluster together with the pods that a command is asked about."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from kschedctl.admission.chain import Admitted
from kschedctl.api.pod import Pod
from kschedctl.cli.manifests import read_manifests
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.selection import Asked, named_pod, selected_pods, split_arguments
from kschedctl.cli.terminal import program
from kschedctl.errors import InputError
from kschedctl.face import SchedulingCluster
from kschedctl.report.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOptions:
    """The options that say which pods of which cluster are meant."""

    cluster: ClusterOptions
    pods: tuple[str, ...]
    filenames: tuple[str, ...]
    namespace: str
    all_namespaces: bool
    selector: str

    @property
    def named(self) -> bool:
        """Whether pods are named, not selected."""
        return bool(self.pods or self.filenames)

    def load(self) -> tuple[SchedulingCluster, list[Asked]]:
        """Load the cluster and find the pods that are named; none where they are to be selected.

        Raises
        ------
        KschedctlError
            Where the cluster or a manifest cannot be read, or there is no such pod.
        """
        if self.named and self.selector:
            raise InputError("pods are named and a selector is given", hint="give one or the other")
        paths, names = split_arguments(self.pods)
        manifests = read_manifests(paths, self.filenames, self.cluster.inputs, self.namespace)
        cluster, given = manifests.pods(self.cluster.load(manifests.others))
        named = [named_pod(cluster.pods, name, self.namespace, everywhere=self.all_namespaces) for name in names]
        return cluster, [*given, *named]

    def select(self, cluster: SchedulingCluster) -> list[Asked]:
        """The pods with the labels that are asked for, else those that are pending.

        Raises
        ------
        InputError
            Where there are none.
        """
        return selected_pods(cluster.pods, self.selector, self.namespace, everywhere=self.all_namespaces)

    def command(self, name: str, asked: Asked | None = None) -> str:
        """A command about one of the pods, or about all that are selected, to be copied."""
        namespace = ("-n", self.namespace) if self.namespace and (asked is None or asked.where) else ()
        selector = ("-l", self.selector) if self.selector and asked is None else ()
        arguments = asked.arguments if asked is not None else ()
        return shlex.join([*program().split(), name, *arguments, *namespace, *selector, *self.cluster.arguments()])


def provenance(cluster: SchedulingCluster, pod: Pod, seed: int | None, admitted: Admitted | None = None) -> Provenance:
    """What the answer for a pod rests on; of what admission says the snapshot lacks ``missing`` has all."""
    return Provenance(
        release_choice=cluster.release_choice,
        paths=cluster.snapshot.paths,
        n_pods=len(cluster.pods),
        node_name=cluster.node_name(pod),
        missing=cluster.missing(pod),
        warnings=(*cluster.cluster.warnings, *cluster.configuration.warnings),
        seed=seed,
        changes=cluster.snapshot.changes,
        admitted=admitted,
    )

"""``--set-replicas KIND/NAME=N``: changes the number of replicas of a workload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edit import Edit, Option, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.releases.release import Release
    from kschedctl.trials.whatif.edit import Changed


@dataclass(frozen=True, slots=True)
class SetReplicas(Edit):
    """An edit that changes the number of replicas of a workload.

    Attributes
    ----------
    kind : str
        The kind, in any form that kubectl accepts: a Deployment, ReplicaSet, StatefulSet or ReplicationController.
    name : str
        The name of the workload.
    replicas : int
        The new number of replicas.
    namespace : str
        The namespace of the workload; empty for ``default``.
    """

    option: ClassVar[Option] = Option("--set-replicas", "KIND/NAME=N", "Answer as if this workload had N replicas.")

    kind: str
    name: str
    replicas: int
    namespace: str = ""

    def __str__(self) -> str:
        from kschedctl.trials.whatif.targets import written_target

        return f"set replicas {written_target(self.kind, self.namespace, self.name)}={self.replicas}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``KIND/NAME=N`` or ``KIND/NAMESPACE/NAME=N``.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> SetReplicas.parse("deploy/web=9", "shop")
        SetReplicas(kind='deploy', name='web', replicas=9, namespace='shop')
        """
        from kschedctl.trials.whatif.values import split_target

        target, equals, number = text.rpartition("=")
        if not equals or not re.fullmatch("[0-9]{1,10}", number):
            raise InputError(f'"{text}" has no number of replicas', hint="KIND/NAME=N, such as deployment/web=5")
        kind, name, found = split_target(target, namespace)
        return cls(kind, name, int(number), found)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Scale the workload: add pending pods or remove pods.

        Raises
        ------
        InputError
            If the workload does not exist or its kind has no replicas, or if there is neither a pod that could be
            copied nor a template, or if more than 10,000 pods would be added.
        """
        from kschedctl.objects.defaults import DEFAULT_NAMESPACE
        from kschedctl.trials.whatif.edits.set_replicas.effect import set_replicas

        key = (self.namespace or DEFAULT_NAMESPACE, self.name)
        return set_replicas(cluster, self.kind, key, self.replicas, release=release)

    def things(self) -> Iterator[Thing]:
        """Yield the replicas of the workload."""
        from kschedctl.objects.kinds import kind_by_name
        from kschedctl.trials.whatif.targets import thing

        yield "replicas of", *thing(kind_by_name(self.kind), self.namespace, self.name)

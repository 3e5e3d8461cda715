"""``--delete KIND/NAME``: deletes an object with the objects that depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.trials.whatif.edit import Edit, Option, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.releases.release import Release
    from kschedctl.trials.whatif.edit import Changed


@dataclass(frozen=True, slots=True)
class Delete(Edit):
    """An edit that deletes an object with the objects that depend on it.

    A node is deleted with its CSINode and ResourceSlices, and its pods are evicted; those with a controller other than
    a DaemonSet are recreated as pending pods. A workload is deleted with its pods, a namespace with all its objects. A
    deleted pod is not recreated, even if it has a controller.

    Attributes
    ----------
    kind : str
        The kind, in any form that kubectl accepts: ``pod``, ``deploy``, ``poddisruptionbudgets``.
    name : str
        The name of the object.
    namespace : str
        The namespace of the object, for namespaced kinds; empty for ``default``.
    """

    option: ClassVar[Option] = Option(
        "--delete", "KIND/NAME", "Answer as if this object were deleted; also KIND/NAMESPACE/NAME."
    )

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        from kschedctl.trials.whatif.targets import written_target

        return f"delete {written_target(self.kind, self.namespace, self.name)}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> Delete.parse("po/shop/web-1"), Delete.parse("node/node-3", "shop")
        (Delete(kind='po', name='web-1', namespace='shop'), Delete(kind='node', name='node-3', namespace=''))
        """
        from kschedctl.trials.whatif.values import split_target

        return cls(*split_target(text, namespace))

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Delete the object.

        Raises
        ------
        InputError
            If the cluster has no object of that kind and name.
        """
        from kschedctl.trials.whatif.edits.delete.effect import delete

        return delete(cluster, self.kind, self.name, self.namespace, release=release)

    def things(self) -> Iterator[Thing]:
        """Yield the object."""
        from kschedctl.objects.kinds import kind_by_name
        from kschedctl.trials.whatif.targets import thing

        yield thing(kind_by_name(self.kind), self.namespace, self.name)

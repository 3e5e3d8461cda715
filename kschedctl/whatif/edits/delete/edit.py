"""``--delete KIND/NAME``: an object gone, with what goes with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.whatif.edit import Edit, Option, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.releases.release import Release
    from kschedctl.whatif.edit import Changed


@dataclass(frozen=True, slots=True)
class Delete(Edit):
    """An object gone, with what goes with it.

    A node takes its pods with it, a workload the pods that it made, a namespace all that is in it. Of a pod it is
    taken that nobody makes it anew.

    Attributes
    ----------
    kind : str
        As kubectl names it: ``pod``, ``deploy``, ``poddisruptionbudgets``.
    name : str
        Its name.
    namespace : str
        Its namespace, for kinds that have one; empty for the default one.
    """

    option: ClassVar[Option] = Option("--delete", "KIND/NAME", "What if this were gone? Also KIND/NAMESPACE/NAME.")

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        from kschedctl.whatif.targets import written_target

        return f"delete {written_target(self.kind, self.namespace, self.name)}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Read ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``.

        Raises
        ------
        InputError
            Where it cannot be read.

        Examples
        --------
        >>> Delete.parse("po/shop/web-1"), Delete.parse("node/node-3", "shop")
        (Delete(kind='po', name='web-1', namespace='shop'), Delete(kind='node', name='node-3', namespace=''))
        """
        from kschedctl.whatif.values import split_target

        return cls(*split_target(text, namespace))

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Delete the object.

        Raises
        ------
        InputError
            Where there is none of that kind and name.
        """
        from kschedctl.whatif.edits.delete.effect import delete

        return delete(cluster, self.kind, self.name, self.namespace)

    def things(self) -> Iterator[Thing]:
        """The object."""
        from kschedctl.api.kind_names import kind_by_name
        from kschedctl.whatif.targets import thing

        yield thing(kind_by_name(self.kind), self.namespace, self.name)

"""``--fail-zone ZONE``: removes all nodes of a zone."""

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
class FailZone(Edit):
    """An edit that removes all nodes of a zone.

    Pods on these nodes are recreated as pending pods if they have a controller other than a DaemonSet; all other pods
    are removed without replacement.
    """

    option: ClassVar[Option] = Option("--fail-zone", "ZONE", "Answer as if all nodes of this zone were gone.")

    zone: str

    def __str__(self) -> str:
        return f"fail zone {self.zone}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``ZONE``."""
        return cls(text)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Remove the nodes of the zone.

        Raises
        ------
        InputError
            If the cluster has no node in the zone.
        """
        from kschedctl.common.wording import counted
        from kschedctl.trials.whatif.nodes import without_nodes
        from kschedctl.trials.whatif.pods import freed_in_words
        from kschedctl.trials.whatif.targets import find_zone

        rows = find_zone(cluster, self.zone)
        evicted = without_nodes(cluster, rows, release=release)
        change = f"zone {self.zone} fails with {counted(len(rows), 'node')}: {evicted}"
        return evicted.cluster, (change, *freed_in_words(evicted.freed))

    def things(self) -> Iterator[Thing]:
        """Yield the zone."""
        yield "zone", self.zone

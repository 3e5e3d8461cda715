"""TopologyPlacementGenerator: a placement per value of the label in a group's topology constraint (KEP-5732)."""

from __future__ import annotations

import numpy as np

from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.interface import PlacementGeneratePlugin, PluginError
from kschedctl.scheduler.framework.pod_groups import Placement, PodGroupInfo


class TopologyPlacementGenerator(PlacementGeneratePlugin):
    """Upstream: plugins/topologyaware."""

    name = "TopologyPlacementGenerator"

    @classmethod
    def exists_in(cls, release: Release) -> bool:
        """Report whether the gate of the plugin is on."""
        return release.places_groups

    def generate_placements(self, group: PodGroupInfo) -> tuple[Placement, ...]:
        """Return all nodes without a constraint; else a placement per domain, or only that of the bound members."""
        nodes = self.handle.cluster.nodes
        if group.pod_group is None:
            raise PluginError(f'podgroup.scheduling.k8s.io "{group.name}" not found')
        key = group.topology_key
        if not key:
            return (Placement("", nodes.rows),)
        required = self._domain_of_scheduled(group, key)
        rows: dict[str, list[int]] = {}
        for row, node in enumerate(nodes.objects):
            domain = node.metadata.labels.get(key)
            if domain is not None and required in (None, domain):
                rows.setdefault(domain, []).append(row)
        return tuple(Placement(domain, np.array(rows[domain], dtype=np.int64)) for domain in sorted(rows))

    def _domain_of_scheduled(self, group: PodGroupInfo, key: str) -> str | None:
        """Return the domain of the members that have a node; ``None`` if there are none."""
        cluster = self.handle.cluster
        found: str | None = None
        for index in group.scheduled(cluster).tolist():
            row = int(cluster.pods.node_row[index])
            pod = cluster.pods.key(index)
            if row < 0:
                name = cluster.pods.records[index].node_name
                raise _undetermined(f'getting node for pod {pod}: nodeinfo not found for node name "{name}"')
            domain = cluster.nodes.objects[row].metadata.labels.get(key)
            if domain is None:
                raise _undetermined(f"no topology domain found for pod {pod}")
            if found and found != domain:
                raise _undetermined(f"more than 1 domain found for pod group: {found}, {domain}")
            found = domain
        return found


def _undetermined(problem: str) -> PluginError:
    return PluginError(f"cannot determine domain for already scheduled pods: {problem}")

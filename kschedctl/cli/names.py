"""``python -m kschedctl.cli.names``: the objects of a cluster for completion, which ends the process if it is slow."""

import json
import sys
from collections.abc import Iterator

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.well_known import zone_of


def main() -> None:
    """Print kind, namespace and name of all objects as they are found, one line per object; for nodes also the zone.

    The only argument is JSON: ``paths`` of a snapshot with its ``cluster``, or with ``None`` to print the clusters in
    it; else ``context`` and ``kubeconfig`` of a running cluster.
    """
    asked = json.loads(sys.argv[1])
    if asked["cluster"] is None:
        from kschedctl.sources.snapshot.load import names_of_clusters

        for name in names_of_clusters(asked["paths"]):
            print(f"Cluster\t\t{name}\t")
        return
    for obj in _objects(**asked):
        row = (type(obj).__name__, obj.metadata.namespace, obj.metadata.name, zone_of(obj.metadata.labels) or "")
        print("\t".join(row), flush=True)


def _objects(paths: list[str], cluster: str, context: str, kubeconfig: str) -> Iterator[ApiObject]:
    if paths:
        from kschedctl.sources.snapshot.load import SnapshotReader

        yield from (obj for obj, _ in SnapshotReader(paths, cluster=cluster))
    else:
        from kschedctl.sources.live.kubeconfig import LiveContext
        from kschedctl.sources.live.reader import LiveReader

        yield from (obj for obj, _ in LiveReader(LiveContext(context=context, kubeconfig=kubeconfig)))


if __name__ == "__main__":
    main()

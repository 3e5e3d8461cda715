"""The pods that the controller of a new workload creates."""

from __future__ import annotations

from collections.abc import Container
from itertools import count

from kschedctl.admission.chain import admit
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.cluster.cluster import Cluster
from kschedctl.findings.finding import Where
from kschedctl.releases.release import Release
from kschedctl.workloads.claims import renamed
from kschedctl.workloads.made_pods import MOST_MADE
from kschedctl.workloads.pods import pods_of
from kschedctl.workloads.template import generated_name


def with_pods_of(
    cluster: Cluster,
    workload: ApiObject,
    *,
    release: Release,
    where: Where = "",
    n_there: int = 0,
    created: bool = True,
) -> tuple[Cluster, int]:
    """Add the pods that a workload wants and that are not there; they wait for a node.

    Parameters
    ----------
    release : Release
        The release whose API server takes the pods.
    where : Subject, Location or str
        Where it was read, for errors.
    n_there : int
        How many of them are there already.
    created : bool
        Whether the workload is a new one; of others an API server has seen the classes.

    Returns
    -------
    cluster : Cluster
        The cluster with the pods, and with the claims and whatever else their controller makes for them.
    int
        How many pods were added.
    """
    added: list[Pod] = []
    objects: list[ApiObject] = []
    taken = set(cluster.pods.index)
    for made in pods_of(workload, cluster, where=where):
        # Pods with names of their own tell by these whether they are there.
        lacking = (
            max(made.replicas - n_there, 0) if made.pod.metadata.generate_name and not made.node else made.replicas
        )
        for name in fresh_names(made.pod, lacking, taken):
            one = renamed(made, name, cluster)
            pod = admit(one.pod, cluster, release=release, where=where or one.pod.ref, created=created).pod
            objects += one.objects
            taken.add((pod.namespace, name))
            added.append(pod)
    return cluster.with_added(objects).with_pods(added=added), len(added)


def fresh_names(pod: Pod, number: int, taken: Container[tuple[str, str]]) -> list[str]:
    """Names for new pods.

    Parameters
    ----------
    pod : Pod
        What the pods are like: with a ``generateName`` the names are generated, else its own is the only one.
    number : int
        How many; of more than ``MOST_MADE`` these.
    taken : container of (namespace, name)
        The names that there are.

    Returns
    -------
    list of str
        Fewer than that where a name of its own is taken.
    """
    namespace, prefix = pod.metadata.namespace, pod.metadata.generate_name
    if not prefix:
        return [pod.name][:number] if (namespace, pod.name) not in taken else []
    names: list[str] = []
    number = min(number, MOST_MADE)
    for i in count():
        if len(names) >= number:
            break
        if (namespace, name := generated_name(prefix, i)) not in taken:
            names.append(name)
    return names

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
from kschedctl.workloads.claims import replica_named
from kschedctl.workloads.created_pods import MOST_MADE, check_number
from kschedctl.workloads.pods import pods_of
from kschedctl.workloads.template import generated_name


def with_pods_of(
    cluster: Cluster,
    workload: ApiObject,
    *,
    release: Release,
    where: Where = "",
    n_there: int = 0,
    n_before: int = 0,
    created: bool = True,
) -> tuple[Cluster, int]:
    """Add the missing pods of a workload to the cluster as pending pods.

    Parameters
    ----------
    release : Release
        The Kubernetes release whose API server admits the pods.
    where : Subject, Location or str
        The source of the workload, for error messages.
    n_there : int
        The number of the workload's pods that exist already.
    n_before : int
        The number of pods that were added for other workloads, which count for the limit.
    created : bool
        True if the workload is new; False if an API server has already resolved its PriorityClass and RuntimeClass.

    Returns
    -------
    cluster : Cluster
        The cluster with the pods, their claims and the other objects that the controller creates for them.
    int
        The number of pods that were added.

    Raises
    ------
    ManifestError
        If an API server would refuse the workload or its pods, or more than ``MOST_MADE`` (10,000) pods are missing.
    """
    added: list[Pod] = []
    objects: list[ApiObject] = []
    taken = set(cluster.pods.index)
    every = pods_of(workload, cluster, where=where, most_ordinals=MOST_MADE)
    check_number(n_before + max(sum(made.replicas for made in every if not made.node) - n_there, 0), where)
    for made in every:
        # Only pods with generated names are counted; for the others ``fresh_names`` checks if the name is taken.
        lacking = (
            max(made.replicas - n_there, 0) if made.pod.metadata.generate_name and not made.node else made.replicas
        )
        for name in fresh_names(made.pod, lacking, taken):
            one = replica_named(made, name, cluster)
            pod = admit(one.pod, cluster, release=release, where=where or one.pod.ref, created=created).pod
            objects += one.objects
            taken.add((pod.namespace, name))
            added.append(pod)
    return cluster.with_added(objects).with_pods(added=added), len(added)


def fresh_names(pod: Pod, number: int, taken: Container[tuple[str, str]]) -> list[str]:
    """Return names for new pods.

    Parameters
    ----------
    pod : Pod
        The template. With a ``generateName`` the names are generated, else the template's name is the only one.
    number : int
        The number of names.
    taken : container of (namespace, name)
        The names that exist already.

    Returns
    -------
    list of str
        The names. The list is empty if the template has a fixed name that is taken.

    Raises
    ------
    ManifestError
        If more than ``MOST_MADE`` (10,000) names would be generated.
    """
    namespace, prefix = pod.metadata.namespace, pod.metadata.generate_name
    if not prefix:
        return [pod.name][:number] if (namespace, pod.name) not in taken else []
    check_number(number, pod.ref)
    names: list[str] = []
    for i in count():
        if len(names) >= number:
            break
        if (namespace, name := generated_name(prefix, i)) not in taken:
            names.append(name)
    return names

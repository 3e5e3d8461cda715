"""PodGroups of the snapshot that arguments name as kubectl does: ``podgroup/train`` or ``podgroups/train``.

The answer for one member of a group is the answer for all, so such an argument means one of its pods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_groups import group_members, groups_with_members
from kschedctl.cluster.records import PENDING
from kschedctl.common.errors import ManifestError
from kschedctl.common.wording import listed, similar
from kschedctl.objects.kinds import kind_by_name
from kschedctl.objects.pod_group import PodGroup
from kschedctl.questions.analyses.subjects import PodSubject

if TYPE_CHECKING:
    from kschedctl.questions.requests.scope import NamespaceScope


def names_group(text: str) -> bool:
    """Report whether an argument names a PodGroup.

    Examples
    --------
    >>> names_group("podgroup/train"), names_group("podgroups.scheduling.k8s.io/train"), names_group("ml/train-0")
    (True, True, False)
    """
    word, slash, _ = text.partition("/")
    return bool(slash) and kind_by_name(word) is PodGroup


def named_member(cluster: Cluster, text: str, scope: NamespaceScope) -> PodSubject:
    """Return a pod of the PodGroup that an argument names: the first pending one, else the first.

    Parameters
    ----------
    text : str
        The argument, for which ``names_group`` is true.
    scope : NamespaceScope
        The namespaces in scope.

    Raises
    ------
    InputError
        If no pod of the snapshot names such a PodGroup, or those of several namespaces do.
    """
    word = text.partition("/")[0]
    name, namespace = scope.split(text, "PodGroup", f"{word}/NAME and its namespace with -n", (f"{word}/",))
    every = groups_with_members(cluster)
    found = sorted(key for key in every if key[1] == name and namespace in (None, key[0]))
    if len(found) > 1:
        problem = f"pods of {len(found)} namespaces name a PodGroup {name}"
        raise ManifestError(problem, hint=f"give the namespace with -n: {listed([key[0] for key in found], 'or')}")
    if not found:
        where = f"PodGroup {namespace}/{name}" if namespace is not None else f"PodGroup {name}"
        elsewhere = [f"{word}/{name} -n {key[0]}" for key in every if key[1] == name]
        close = [f"{word}/{other}" for other in similar(name, (key[1] for key in every))]
        hint = f"the snapshot has {listed(elsewhere, 'or')}" if elsewhere else ""
        hint = hint or (f"did you mean {listed(close, 'or')}?" if close else "")
        raise ManifestError(f"no pod of the snapshot names {where}", hint=hint)
    members = group_members(cluster, *found[0])
    pending = members[cluster.pods.node_row[members] == PENDING]
    return PodSubject(cluster.pods.pod(int((pending if len(pending) else members)[0])))

"""Workloads of the snapshot that arguments name as kubectl does: ``deploy/web``, ``statefulsets/db``, ``jobs.batch/x``.

An argument of that form means the workload, unless a file of that path exists (``is_manifest``). A pod in a namespace
whose name is also that of a kind is named with ``-n``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.common.wording import listed, similar
from kschedctl.controllers.workloads.pods import WORKLOADS
from kschedctl.objects.kinds import kind_by_name
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.questions.requests.manifests import ObjectSubject
from kschedctl.trials.completeness import require_listed

if TYPE_CHECKING:
    from kschedctl.questions.requests.scope import NamespaceScope


def workload_kind(text: str) -> type[ApiObject] | None:
    """Return the kind of workload that an argument names; ``None`` if it names no workload.

    Examples
    --------
    >>> workload_kind("deploy/web").__name__, workload_kind("shop/web-7"), workload_kind("po/web-7")
    ('Deployment', None, None)
    """
    word, slash, _ = text.partition("/")
    kind = kind_by_name(word) if slash else None
    return kind if kind in WORKLOADS and kind is not Pod else None


def named_workload(cluster: Cluster, text: str, scope: NamespaceScope) -> ObjectSubject:
    """Return the workload of the snapshot that an argument names.

    Parameters
    ----------
    text : str
        The argument; ``workload_kind`` recognizes its kind.
    scope : NamespaceScope
        The namespaces in scope.

    Raises
    ------
    InputError
        If there is no workload of that name, or there are several.
    ClusterError
        If there is none, and the kind could not be listed.
    """
    kind = workload_kind(text)
    assert kind is not None
    word = text.partition("/")[0]
    name, namespace = scope.split(text, kind.__name__, f"{word}/NAME and its namespace with -n", (f"{word}/",))
    every = list(cluster.list(kind))
    found = [obj for obj in every if obj.name == name and namespace in (None, obj.namespace)]
    if len(found) == 1:
        obj = found[0]
        arguments = {"pods": (f"{kind.__name__.lower()}/{name}",), "namespace": obj.namespace}
        return ObjectSubject(obj, arguments)
    if found:
        places = listed([obj.namespace for obj in found], "or")
        problem = f"the snapshot has {len(found)} {kind.__name__}s with the name {name}"
        raise ManifestError(problem, hint=f"give the namespace with -n: {places}")
    require_listed(cluster, kind.__name__, namespace or "")
    where = f"{kind.__name__} {namespace}/{name}" if namespace is not None else f"{kind.__name__} {name}"
    raise ManifestError(f"the snapshot has no {where}", hint=_hint(cluster, every, kind, word, name))


def _hint(cluster: Cluster, every: list[ApiObject], kind: type[ApiObject], word: str, name: str) -> str:
    if (word, name) in cluster.pods.index:
        return f"to name the pod, use {name} -n {word}"
    elsewhere = [obj for obj in every if obj.name == name]
    if elsewhere:
        return f"the snapshot has {listed([f'{word}/{name} -n {obj.namespace}' for obj in elsewhere], 'or')}"
    close = similar(name, (obj.name for obj in every))
    if close:
        return f"did you mean {listed([f'{word}/{other}' for other in close], 'or')}?"
    return "" if every else f"the snapshot has no {kind.__name__}s: name a pod or a manifest"

"""The entry to this package: what an API server says of a manifest, from reading it to what its pods are refused for.

It stops where an API server does: a value that cannot be read, then fields that admission refuses of a Pod, then all
that is wrong with the object, and of one that is taken the warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from kschedctl.api.names import path_segment_problems
from kschedctl.api.schema.decode import decoded
from kschedctl.api.schema.strict import is_known
from kschedctl.findings.finding import Finding, Severity
from kschedctl.releases.release import Release
from kschedctl.validation.autoscaler import horizontal_pod_autoscaler, horizontal_pod_autoscaler_v1
from kschedctl.validation.budget import pod_disruption_budget
from kschedctl.validation.claim import persistent_volume_claim
from kschedctl.validation.context import Context, Found, Tree
from kschedctl.validation.jobs import cron_job, job
from kschedctl.validation.metadata import object_metadata
from kschedctl.validation.persistent_volume import persistent_volume
from kschedctl.validation.pod import pod
from kschedctl.validation.pods_refused import FAILED_CREATE, label_key_refusals, pod_path, pod_refusals
from kschedctl.validation.priority_class import priority_class
from kschedctl.validation.storage_class import storage_class
from kschedctl.validation.warnings import warnings
from kschedctl.validation.workloads import (
    daemon_set,
    deployment,
    pod_template_object,
    replica_set,
    replication_controller,
    stateful_set,
)

Rule: TypeAlias = Callable[[Tree, Context], Found]
#: What is checked of which kind.
RULES: Final[Mapping[str, Rule]] = {
    "v1/Pod": pod,
    "v1/PodTemplate": pod_template_object,
    "v1/ReplicationController": replication_controller,
    "v1/PersistentVolume": persistent_volume,
    "v1/PersistentVolumeClaim": persistent_volume_claim,
    "apps/v1/Deployment": deployment,
    "apps/v1/ReplicaSet": replica_set,
    "apps/v1/StatefulSet": stateful_set,
    "apps/v1/DaemonSet": daemon_set,
    "batch/v1/Job": job,
    "batch/v1/CronJob": cron_job,
    "policy/v1/PodDisruptionBudget": pod_disruption_budget,
    "scheduling.k8s.io/v1/PriorityClass": priority_class,
    "autoscaling/v1/HorizontalPodAutoscaler": horizontal_pod_autoscaler_v1,
    "autoscaling/v2/HorizontalPodAutoscaler": horizontal_pod_autoscaler,
    "storage.k8s.io/v1/StorageClass": storage_class,
}
_POD: Final = "v1/Pod"
#: Where the spec of the pods of a workload stands, if not in its template.
_OF_CRON_JOBS: Final = "batch/v1/CronJob"
_OF_TEMPLATES: Final = "v1/PodTemplate"


def validate(
    api_version: str, kind: str, obj: Mapping[str, Any], release: Release, *, admission: bool = True
) -> Iterator[Finding]:
    """What an API server says when an object is created.

    Parameters
    ----------
    api_version, kind : str
        What it is; of kinds that are not in ``RULES``, only what cannot be read is found.
    obj : mapping
        The object, as it was written: a manifest as data. It is not changed.
    release : Release
        Whose API server it is.
    admission : bool
        Whether to tell what admission refuses whatever classes a cluster has; with a cluster at hand,
        ``kschedctl.admission`` tells more.

    Yields
    ------
    Finding
        In an API server's words and order. Errors with the rule ``FAILED_CREATE`` are about the pods of a workload
        that is itself taken; those with any other rule refuse the object. Warnings come only for what is not refused.

    Examples
    --------
    >>> from kschedctl.releases.release import LATEST
    >>> spec = {"minAvailable": "110%"}
    >>> budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": spec}
    >>> print(*validate("policy/v1", "PodDisruptionBudget", budget, LATEST))
    spec.minAvailable: Invalid value: "110%": must not be greater than 100%
    """
    if not is_known(api_version, kind):
        return
    tree, unreadable = decoded(obj, api_version, kind)
    if unreadable is not None:
        yield unreadable
        return
    yield from validate_decoded(api_version, kind, tree, release, admission=admission)


def validate_decoded(
    api_version: str, kind: str, tree: Tree, release: Release, *, admission: bool = True
) -> Iterator[Finding]:
    """Yield what an API server says of an object, as for ``validate``.

    Parameters
    ----------
    tree : dict
        The object as ``kschedctl.api.schema.decode.decoded`` reads it. Defaults are filled in.
    """
    key = f"{api_version}/{kind}"
    rule = RULES.get(key)
    if rule is None:
        return
    context = Context(release)
    # Admission comes before validation, so that of a Pod these are said alone.
    template = _template(tree, key)
    refusals = list(pod_refusals(template, pod_path(kind), kind)) if admission else []
    if key == _POD and refusals:
        yield from refusals
        return
    found = list(rule(tree, context))
    if not found:
        # What all kinds have in common, where a kind's own rule is not stricter.
        metadata = tree.get("metadata", {})
        found = list(object_metadata(metadata, path_segment_problems, namespaced=True, known_finalizers=False))
    yield from found
    yield from refusals
    if key != _POD:
        yield from label_key_refusals(template, kind, context)
    if not found:
        yield from warnings(tree, key, pod_path(kind))


def pod_findings(tree: Tree, release: Release) -> Iterator[Finding]:
    """What an API server refuses of a Pod that went through admission, in the fields that scheduling reads.

    Parameters
    ----------
    tree : dict
        The Pod as data, without nulls; what of its fields is absent is not missed.
    """
    for finding in pod(tree, Context(release, partial=True)):
        hint = _DEFAULTS_HINT if ".resources." in finding.field else ""
        yield replace(finding, hint=finding.hint or hint)


_DEFAULTS_HINT: Final = "where a container gives no request or limit, defaults and LimitRanges may set one"


def refuses(finding: Finding) -> bool:
    """Whether the object itself is refused for a finding, not only its pods."""
    return finding.severity is Severity.ERROR and finding.rule != FAILED_CREATE


def _template(tree: Tree, key: str) -> Tree | None:
    """What makes the pods of an object, the object itself where it is one, or ``None`` where there is nothing."""
    if key == _POD:
        return tree
    holder: Tree = tree if key == _OF_TEMPLATES else tree.get("spec", {})
    if key == _OF_CRON_JOBS:
        holder = holder.get("jobTemplate", {}).get("spec", {})
    template = holder.get("template")
    return template if isinstance(template, dict) else None

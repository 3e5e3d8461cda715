"""All of what an API server makes of a new pod before the scheduler sees it, in the API server's order.

The plugins that are on by default and touch what scheduling reads. ServiceAccount is one of those that do not, and
ExtendedResourceToleration, PodNodeSelector and PodTolerationRestriction are off by default.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from kschedctl.admission.changes import Change, changes_between
from kschedctl.admission.default_toleration_seconds import admit_tolerations
from kschedctl.admission.label_keys import merge_label_keys
from kschedctl.admission.limit_ranger import default_limits, limit_findings
from kschedctl.admission.priority import admit_priority
from kschedctl.admission.resource_quota import QuotaRefusal, quota_refusals
from kschedctl.admission.runtime_class import admit_runtime_class
from kschedctl.api.defaults import default_pod
from kschedctl.api.pod import Pod
from kschedctl.api.quantity import QUANTITY_HINT, QuantityError
from kschedctl.api.resources import RequestRules
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import ManifestError
from kschedctl.findings.finding import Where, subject_of
from kschedctl.releases.release import Release
from kschedctl.validation.pods_refused import in_workload
from kschedctl.validation.validate import pod_findings

#: What the defaults of the API, which are set before any plugin runs, are called in changes.
DEFAULTS: Final = "defaults"
#: Likewise the merging of label keys, which comes after all plugins.
LABEL_KEYS: Final = "matchLabelKeys"

_Step = Callable[[Pod], tuple[Pod, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Admitted:
    """A pod as the cluster would store it.

    Attributes
    ----------
    changes : tuple of Change
        What was changed, in order.
    warnings : tuple of str
        What could not be found out from the cluster.
    quota_refusals : tuple of QuotaRefusal
        The quotas that would not let the pod in.
    """

    pod: Pod
    changes: tuple[Change, ...]
    warnings: tuple[str, ...]
    quota_refusals: tuple[QuotaRefusal, ...]


def admit(pod: Pod, cluster: Cluster, *, release: Release, where: Where = "", created: bool = True) -> Admitted:
    """Do with a pod what an API server does.

    Parameters
    ----------
    pod : Pod
        The pod, as it was written. It is not changed; its status is left as it is.
    cluster : Cluster
        Its classes, limits and quotas.
    release : Release
        The release whose API server it is.
    where : Subject, Location or str
        Where the pod was read, for errors.
    created : bool
        Whether the pod is a new one; of others an API server has seen the classes, also those that the snapshot lacks.

    Raises
    ------
    ManifestError
        Where an API server would refuse the pod, for anything but a quota.

    Notes
    -----
    A pod that was admitted before comes out as it went in, as long as its classes and limits are the same.
    """
    # Merging into spread constraints has a gate of its own; it is on in all releases that are modelled.
    spread = release.enabled("MatchLabelKeysInPodTopologySpread")
    rules = RequestRules.of(release)
    steps: tuple[tuple[str, _Step], ...] = (
        (DEFAULTS, lambda pod: (default_pod(pod), ())),
        ("LimitRanger", lambda pod: (default_limits(pod, cluster), ())),
        ("Priority", lambda pod: admit_priority(pod, cluster, where=where, created=created)),
        ("DefaultTolerationSeconds", lambda pod: (admit_tolerations(pod), ())),
        ("RuntimeClass", lambda pod: admit_runtime_class(pod, cluster, where=where, created=created)),
        (LABEL_KEYS, lambda pod: (merge_label_keys(pod, spread=spread), ())),
    )
    changes: list[Change] = []
    warnings: list[str] = []
    try:
        for plugin, step in steps:
            admitted, warned = step(pod)
            changes += changes_between(plugin, pod, admitted)
            warnings += warned
            pod = admitted
        for findings in (
            pod_findings(msgspec.to_builtins(pod), release),
            limit_findings(pod, cluster, pod_level=rules.pod_level),
        ):
            ManifestError.raise_any(findings, where)
        refusals = quota_refusals(pod, cluster, rules)
    except QuantityError as error:
        raise ManifestError(str(error), where=where, path=error.path, hint=QUANTITY_HINT) from None
    except ManifestError as error:
        workload = subject_of(where).object
        if workload is None or workload.kind == "Pod":
            raise
        # What is found where a workload was read, which is itself taken, is found in its template.
        found = error.findings
        own = [in_workload(each, workload.kind) if each.object == workload else each for each in found]
        raise ManifestError.together(own) from None
    return Admitted(pod, tuple(changes), tuple(warnings), refusals)

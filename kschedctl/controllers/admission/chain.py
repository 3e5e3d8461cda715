"""The admission chain: every change that an API server makes to a new pod before scheduling, in its order.

The chain contains the plugins that are on by default and change fields that scheduling reads. ServiceAccount is on
by default but changes no such field. ExtendedResourceToleration, PodNodeSelector and PodTolerationRestriction are off
by default.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Where, subject_of
from kschedctl.controllers.admission.changes import Admitted, FieldChange, changes_between
from kschedctl.controllers.admission.limit_ranger import default_limits, limit_findings, with_default_sources
from kschedctl.controllers.admission.priority import admit_priority
from kschedctl.controllers.admission.resource_quota import quota_refusals
from kschedctl.controllers.admission.runtime_class import admit_runtime_class
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.meta import Labels, LabelSelector, LabelSelectorRequirement
from kschedctl.objects.pod import DEFAULT_TOLERATIONS, NO_EXECUTE, Pod, PodAffinity, PodAffinityTerm
from kschedctl.objects.quantity import QUANTITY_HINT, QuantityError
from kschedctl.objects.releases.release import Release
from kschedctl.objects.resources import RequestRules
from kschedctl.objects.selectors import IN, NOT_IN
from kschedctl.objects.validation.pod import pod_findings
from kschedctl.objects.validation.pod_rejections import in_workload

# The DefaultTolerationSeconds admission plugin.
#
# Pods stay for 300 seconds on nodes that are not ready or unreachable, unless they set their own tolerations.


def admit_tolerations(pod: Pod) -> Pod:
    """Add the default tolerations that a pod lacks."""
    own = pod.spec.tolerations
    missing = [
        added
        for added in DEFAULT_TOLERATIONS
        if not any(t.key in ("", added.key) and t.effect in ("", NO_EXECUTE) for t in own)
    ]
    return replace(pod, spec=replace(pod.spec, tolerations=(*own, *missing))) if missing else pod


# Label keys of pod affinity and topology spread constraints, merged into the label selector of the same term.
#
# The API server's pod strategy does this when it stores a pod. The InterPodAffinity plugin reads only the selector;
# PodTopologySpread also reads the keys, which select the same pods.


def merge_label_keys(pod: Pod, *, spread: bool = True) -> Pod:
    """Merge ``matchLabelKeys`` and ``mismatchLabelKeys`` into the selectors of a pod.

    Args:
        pod: The pod. Requirements that its selectors already contain, as in a stored pod, are not added again.
        spread: True if topologySpreadConstraints are merged too (MatchLabelKeysInPodTopologySpreadSelectorMerge).
    """
    spec, labels = pod.spec, pod.metadata.labels
    if spec.affinity is not None:
        affinity = replace(
            spec.affinity,
            pod_affinity=_merge_terms(spec.affinity.pod_affinity, labels),
            pod_anti_affinity=_merge_terms(spec.affinity.pod_anti_affinity, labels),
        )
        spec = replace(spec, affinity=affinity)
    if spread and spec.topology_spread_constraints:
        constraints = tuple(
            replace(c, label_selector=_merged_selector(c.label_selector, c.match_label_keys, (), labels))
            for c in spec.topology_spread_constraints
        )
        spec = replace(spec, topology_spread_constraints=constraints)
    return replace(pod, spec=spec)


def _merge_terms(terms: PodAffinity | None, labels: Labels) -> PodAffinity | None:
    if terms is None:
        return None
    return PodAffinity(
        required_during_scheduling_ignored_during_execution=tuple(
            _merge_term(term, labels) for term in terms.required_during_scheduling_ignored_during_execution
        ),
        preferred_during_scheduling_ignored_during_execution=tuple(
            replace(weighted, pod_affinity_term=_merge_term(weighted.pod_affinity_term, labels))
            for weighted in terms.preferred_during_scheduling_ignored_during_execution
        ),
    )


def _merge_term(term: PodAffinityTerm, labels: Labels) -> PodAffinityTerm:
    selector = _merged_selector(term.label_selector, term.match_label_keys, term.mismatch_label_keys, labels)
    return replace(term, label_selector=selector)


def _merged_selector(
    selector: LabelSelector | None, keys: Iterable[str], mismatch_keys: Iterable[str], labels: Labels
) -> LabelSelector | None:
    # An absent selector matches nothing, whatever the label keys are.
    if selector is None:
        return None
    wanted = (
        LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],))
        for each, operator in ((keys, IN), (mismatch_keys, NOT_IN))
        for key in each
        if key in labels
    )
    added = tuple(requirement for requirement in wanted if requirement not in selector.match_expressions)
    return replace(selector, match_expressions=(*selector.match_expressions, *added)) if added else selector


_LIMIT_RANGER: Final = "LimitRanger"
#: The plugin name under which changes report the API defaults, which are set before any plugin runs.
DEFAULTS: Final = "defaults"
#: The plugin name under which changes report merged label keys; merging comes after all plugins.
LABEL_KEYS: Final = "matchLabelKeys"
#: The plugin name under which changes report fields that are dropped because their feature gates are off.
FEATURE_GATES: Final = "featureGates"
#: The feature gate without which API servers drop the group of a new pod.
_GROUPS: Final = "GenericWorkload"

_Step = Callable[[Pod], tuple[Pod, tuple[str, ...]]]


def admit(pod: Pod, cluster: Cluster, *, release: Release, where: Where = "", created: bool = True) -> Admitted:
    """Apply to a pod what an API server does on admission: defaults, admission plugins, validation and quotas.

    Args:
        pod: The pod as written. It is not modified; the status is copied unchanged.
        cluster: The cluster with its classes, limits and quotas.
        release: The Kubernetes release of the API server.
        where: The source of the pod, for error messages.
        created: True if the pod is new. For an existing pod the API server has already resolved the classes,
            including classes that the snapshot lacks.

    Raises ManifestError if an API server would reject the pod for any reason other than a quota.

    Admission is idempotent: an admitted pod is unchanged as long as its classes and limits are the same.
    """
    # Merging into topology spread constraints has its own feature gate, which is on in all supported releases.
    spread = release.enabled("MatchLabelKeysInPodTopologySpread")
    rules = RequestRules.of(release)
    steps: tuple[tuple[str, _Step], ...] = (
        (DEFAULTS, lambda pod: (default_pod(pod), ())),
        (_LIMIT_RANGER, lambda pod: (default_limits(pod, cluster), ())),
        ("Priority", lambda pod: admit_priority(pod, cluster, where=where, created=created)),
        ("DefaultTolerationSeconds", lambda pod: (admit_tolerations(pod), ())),
        ("RuntimeClass", lambda pod: admit_runtime_class(pod, cluster, where=where, created=created)),
        (FEATURE_GATES, lambda pod: _drop_disabled(pod, release) if created else (pod, ())),
        (LABEL_KEYS, lambda pod: (merge_label_keys(pod, spread=spread), ())),
    )
    changes: list[FieldChange] = []
    warnings: list[str] = []
    try:
        for plugin, step in steps:
            admitted, warned = step(pod)
            changes += changes_between(plugin, pod, admitted)
            warnings += warned
            pod = admitted
        by_default = [change for change in changes if change.plugin == _LIMIT_RANGER]
        problems = pod_findings(msgspec.to_builtins(pod), release)
        for findings in (
            (with_default_sources(each, by_default, cluster, pod.namespace) for each in problems),
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
        # The workload itself was accepted, so a problem of its pod belongs to the pod template.
        found = error.findings
        own = [in_workload(each, workload.kind) if each.object == workload else each for each in found]
        raise ManifestError.together(own) from None
    return Admitted(pod, tuple(changes), tuple(warnings), refusals)


def _drop_disabled(pod: Pod, release: Release) -> tuple[Pod, tuple[str, ...]]:
    """Remove the group of a new pod if the feature gate of pod groups is off."""
    name = pod.spec.pod_group_name
    if not name or release.api_server_has(_GROUPS):
        return pod, ()
    warning = f"spec.schedulingGroup is dropped (PodGroup {name}): the feature gate {_GROUPS} is off"
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduling_group=None)), (warning,)

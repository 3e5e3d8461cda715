"""Label keys of pod affinity and topology spread constraints, merged into the label selector of the same term.

The API server's pod strategy does this when it stores a pod. The InterPodAffinity plugin reads only the selector;
PodTopologySpread also reads the keys, which select the same pods.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kschedctl.objects.meta import Labels, LabelSelector, LabelSelectorRequirement
from kschedctl.objects.pod import Pod, PodAffinity, PodAffinityTerm
from kschedctl.objects.selectors import IN, NOT_IN


def merge_label_keys(pod: Pod, *, spread: bool = True) -> Pod:
    """Merge ``matchLabelKeys`` and ``mismatchLabelKeys`` into the selectors of a pod.

    Parameters
    ----------
    pod : Pod
        The pod. Requirements that its selectors already contain, as in a stored pod, are not added again.
    spread : bool
        True if topologySpreadConstraints are merged too (MatchLabelKeysInPodTopologySpreadSelectorMerge).
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
            replace(c, label_selector=_merged(c.label_selector, c.match_label_keys, (), labels))
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
    selector = _merged(term.label_selector, term.match_label_keys, term.mismatch_label_keys, labels)
    return replace(term, label_selector=selector)


def _merged(
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

"""Disruption budgets that select no pod, although pods have almost the labels that they select.

The API server accepts such a budget, and evictions ignore it: all replicas of a workload can go at once. Operators
correct the selector before they drain a node. A budget of a workload that has no pods at the moment is in order.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import meant, mistakes
from kschedctl.controllers.disruption import BudgetedPods, covering_budgets
from kschedctl.controllers.workloads.ownership import MAKERS, workload_of
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import IN, Requirement, SelectorError, matches, parse_label_selector
from kschedctl.objects.well_known import POD_TEMPLATE_HASH
from kschedctl.objects.workload import PodDisruptionBudget, PodTemplateSpec

#: Parts of a budget's name that do not name its workload.
_AFFIXES: Final = ("disruption-budget", "disruptionbudget", "budget", "pdb")
#: Values that are too common to show which label is meant.
_COMMON: Final = frozenset(("true", "false", "yes", "no", "enabled", "prod", "production", "stable"))
#: The labels that controllers give single revisions and pods.
_OF_CONTROLLERS: Final = frozenset((POD_TEMPLATE_HASH, "controller-revision-hash", "pod-template-generation"))


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleBudget:
    """A disruption budget that selects no pod."""

    budget: PodDisruptionBudget
    #: The workload and the evicted pods that it was probably meant for; empty if no pods have almost its labels.
    workload: str = ""
    pods: tuple[Pod, ...] = ()
    #: The labels that it selects, and those that the pods have instead, such as ``app=wbe`` and ``app=web``.
    selected: str = ""
    instead: str = ""
    #: The budget with the corrected selector; ``None`` if it is not known.
    corrected: PodDisruptionBudget | None = None

    @property
    def command(self) -> str:
        """The kubectl command that corrects the selector."""
        old, new = self.budget.spec.selector, self.corrected.spec.selector if self.corrected is not None else None
        if old is None or new is None:
            return ""
        patch: dict[str, object] = {}
        if old.match_labels != new.match_labels:
            gone = {key: None for key in old.match_labels if key not in new.match_labels}
            changed = {key: value for key, value in new.match_labels.items() if old.match_labels.get(key) != value}
            patch["matchLabels"] = {**gone, **changed}
        if old.match_expressions != new.match_expressions:
            patch["matchExpressions"] = [
                {"key": each.key, "operator": each.operator, **({"values": each.values} if each.values else {})}
                for each in new.match_expressions
            ]
        data = json.dumps({"spec": {"selector": patch}})
        return f"kubectl patch pdb {self.budget.name} -n {self.budget.namespace} --type=merge -p '{data}'"


def unprotected(cluster: Cluster, pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods that no disruption budget selects."""
    return [pod for pod in pods if not covering_budgets(cluster, pod)]


def idle_budgets(cluster: Cluster, pods: Sequence[Pod]) -> Iterator[IdleBudget]:
    """Yield the budgets in the namespaces of some pods that select no pod, and that of no workload without pods.

    Args:
        pods: The pods that are evicted. A budget can only be meant for those that no budget selects.
    """
    namespaces = {pod.namespace for pod in pods}
    by_workload: dict[tuple[str, str, str], list[Pod]] = {}
    for pod in unprotected(cluster, pods):
        by_workload.setdefault(workload_of(cluster, pod.metadata), []).append(pod)
    for budget in cluster.list(PodDisruptionBudget):
        selector = budget.spec.selector
        if selector is None or budget.namespace not in namespaces:
            continue
        try:
            requirements = parse_label_selector(selector)
        except SelectorError:
            continue
        if not requirements or BudgetedPods(cluster, budget).selected or _has_template(cluster, budget, requirements):
            continue
        own = [(key, each) for key, each in by_workload.items() if key[1] == budget.namespace]
        found = [(key, _mistyped(budget, requirements, each)) for key, each in own]
        found += [(key, _named(budget, requirements, each)) for key, each in own if _is_for(budget.name, key[2])]
        yield next(
            (dataclasses.replace(each, workload=as_words(key)) for key, each in found if each is not None),
            IdleBudget(budget=budget),
        )


def as_words(key: tuple[str, str, str]) -> str:
    """Return a workload as text, such as ``Deployment shop/web``."""
    kind, namespace, name = key
    return f"{kind} {namespace}/{name}"


def _has_template(cluster: Cluster, budget: PodDisruptionBudget, requirements: tuple[Requirement, ...]) -> bool:
    """Report whether a workload of the namespace creates pods that the budget selects, although it has none now."""
    for kind in MAKERS:
        for workload in cluster.list(kind):
            spec = getattr(workload, "spec", None)
            template = getattr(spec, "template", None) or getattr(
                getattr(getattr(spec, "job_template", None), "spec", None), "template", None
            )
            labels = template.metadata.labels if isinstance(template, PodTemplateSpec) else {}
            if workload.namespace == budget.namespace and matches(requirements, labels):
                return True
    return False


def _mistyped(
    budget: PodDisruptionBudget, requirements: tuple[Requirement, ...], pods: Sequence[Pod]
) -> IdleBudget | None:
    """Return the budget if each label that it misses on some pods is one that they have almost."""
    labels = pods[0].metadata.labels
    unmet = [each for each in requirements if not each.holds(labels.get(each.key))]
    instead = [_label_meant(each, labels) for each in unmet]
    found = [each for each in instead if each]
    if len(found) < len(unmet):
        return None
    return _corrected(budget, unmet, dict(zip((each.key for each in unmet), found, strict=True)), labels, pods)


def _label_meant(requirement: Requirement, labels: dict[str, str]) -> str:
    """Return the label of a pod that an unmet requirement was probably meant for; empty if there is none."""
    key, wanted = requirement.key, requirement.values
    if requirement.operator not in (IN, "Exists"):
        return ""
    if key in labels:
        return key if any(mistakes(value, labels[key]) for value in wanted) else ""
    alike = meant(key, labels) or [each for each in labels if each.rpartition("/")[2] == key.rpartition("/")[2]]
    if requirement.operator != IN:
        return next(iter(alike), "")
    near = [each for each in alike if labels[each] in wanted or any(mistakes(value, labels[each]) for value in wanted)]
    same = [each for each, value in labels.items() if value in wanted and len(value) > 2 and value not in _COMMON]
    return next(iter((*near, *(each for each in same if each not in _OF_CONTROLLERS))), "")


def _is_for(budget: str, workload: str) -> bool:
    """Report whether a budget is named after a workload.

    >>> _is_for("web-pdb", "web"), _is_for("pdb-web", "web"), _is_for("web", "web-api")
    (True, True, False)
    """
    for affix in _AFFIXES:
        budget = budget.removesuffix(f"-{affix}").removeprefix(f"{affix}-")
    return budget == workload


def _named(
    budget: PodDisruptionBudget, requirements: tuple[Requirement, ...], pods: Sequence[Pod]
) -> IdleBudget | None:
    """Return a budget that is named after the workload of some pods, with the labels that they have instead."""
    labels = pods[0].metadata.labels
    unmet = [each for each in requirements if not each.holds(labels.get(each.key))]
    if not all(each.operator == IN and each.key in labels for each in unmet):
        return None
    return _corrected(budget, unmet, {each.key: each.key for each in unmet}, labels, pods)


def _corrected(
    budget: PodDisruptionBudget,
    unmet: Sequence[Requirement],
    keys: dict[str, str],
    labels: dict[str, str],
    pods: Sequence[Pod],
) -> IdleBudget:
    """Return the budget with the labels that pods have, by the keys that it selects instead."""
    selector = budget.spec.selector or LabelSelector()
    match_labels = dict(selector.match_labels)
    for key in [key for key in match_labels if key in keys]:
        del match_labels[key]
        match_labels[keys[key]] = labels[keys[key]]
    expressions = tuple(
        replace(each, key=keys[each.key], values=(labels[keys[each.key]],) if each.values else ())
        if each.key in keys and each.operator in (IN, "Exists")
        else each
        for each in selector.match_expressions
    )
    new = LabelSelector(match_labels=match_labels, match_expressions=expressions)
    return IdleBudget(
        budget=budget,
        pods=tuple(pods),
        selected=", ".join(map(str, unmet)),
        instead=", ".join(f"{key}={labels[key]}" for key in dict.fromkeys(keys.values())),
        corrected=replace(budget, spec=replace(budget.spec, selector=new)),
    )


# Workloads whose replicas all go at once.

#: The kinds whose pods serve nobody at a given time, or belong to nodes.
_NOT_SERVING: Final = frozenset(("Pod", "Job", "CronJob", "DaemonSet", "Node"))


def all_at_once(cluster: Cluster, pods: Sequence[Pod]) -> list[tuple[str, tuple[Pod, ...]]]:
    """Return the workloads of which all pods, at least 2, are among some unprotected pods, with these pods.

    Each workload is given as text, such as ``Deployment shop/web``.
    """
    gone: dict[tuple[str, str, str], list[Pod]] = {}
    for pod in unprotected(cluster, pods):
        key = workload_of(cluster, pod.metadata)
        if key[0] not in _NOT_SERVING:
            gone.setdefault(key, []).append(pod)
    several = {key: each for key, each in gone.items() if len(each) > 1}
    if not several:
        return []
    going = {(pod.namespace, pod.name) for each in several.values() for pod in each}
    namespaces = {key[1] for key in several}
    for record in cluster.pods.records:
        own = record.metadata
        stays = record.node_name and own.deletion_timestamp is None
        if stays and own.namespace in namespaces and record.name not in going:
            several.pop(workload_of(cluster, own), None)
    return [(as_words(key), tuple(each)) for key, each in several.items()]

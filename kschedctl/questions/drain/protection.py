"""Pods that a drain evicts although something was probably meant to protect them: a budget, or an annotation.

The drain goes on, so that these causes do not change the outcome. Budgets with a mistake in their selector are part of
the first line, and their correction is the first suggestion.
"""

from collections.abc import Iterator
from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.controllers.disruption import counted_budget
from kschedctl.diagnosis.idle_budgets import IdleBudget, all_at_once, idle_budgets
from kschedctl.objects.cluster_autoscaler import SAFE_TO_EVICT
from kschedctl.objects.karpenter import DO_NOT_DISRUPT
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions.answer_parts import CureData, DiagnosisData
from kschedctl.questions.drain.answer import AT_ONCE, IDLE, MISTYPED, UNHEEDED
from kschedctl.questions.drain.cures import is_drained, node_causes, outcome
from kschedctl.questions.drain.request import DrainRequest
from kschedctl.questions.drain.run import DrainRun, run_drain
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.trials.loaded_cluster import LoadedCluster

#: Annotations with which pods ask autoscalers to leave them where they are, with the value.
_KEEPING: Final = {DO_NOT_DISRUPT: "true", SAFE_TO_EVICT: "false"}


def unprotected_causes(run: DrainRun) -> Iterator[DiagnosisData]:
    """Yield what does not protect the evicted pods: annotations for autoscalers, idle budgets, and the lack of one."""
    for key, value in _KEEPING.items():
        asking = [pod.key for each in run.drained for pod in each.evicted if pod.metadata.annotations.get(key) == value]
        if asking:
            has = "has" if len(asking) == 1 else "have"
            cause = f"{listed(asking, most=3)} {has} the annotation {key}: {value}, which a drain does not heed"
            yield DiagnosisData(UNHEEDED, cause, (), ())
    together = [pair for each in run.drained for pair in all_at_once(run.before, each.evicted)]
    found = list(_idle(run))
    at_once = {workload: len(pods) for workload, pods in together}
    meant = [each for each in found if each.corrected is not None]
    for each in meant:
        cause = f"budget {each.budget.namespace}/{each.budget.name} selects no pod: it wants {each.selected}"
        goes = f", so all {n} go at once" if (n := at_once.pop(each.workload, 0)) else ", so it does not protect them"
        yield DiagnosisData(MISTYPED, f"{cause}, and the pods of {each.workload} have {each.instead}{goes}", (), ())
    if at_once and not run.before.is_forbidden(PodDisruptionBudget):
        names = listed([f"{counted(n, 'pod')} of {workload}" for workload, n in at_once.items()], most=3)
        yield DiagnosisData(AT_ONCE, f"all {names} go at once: no disruption budget selects them", (), ())
    others = [f"{each.budget.namespace}/{each.budget.name}" for each in found if each.corrected is None]
    if others:
        verb = "budget {} selects" if len(others) == 1 else "budgets {} select"
        yield DiagnosisData(IDLE, f"{verb.format(listed(others, most=3))} no pod", (), ())


def _idle(run: DrainRun) -> Iterator[IdleBudget]:
    evicted = [pod for each in run.drained for pod in each.evicted]
    return idle_budgets(run.before, evicted) if evicted else iter(())


def protecting_cures(cluster: LoadedCluster, request: DrainRequest, run: DrainRun) -> Iterator[CureData]:
    """Yield the corrections of budgets, each with the drain that it then allows."""
    for each in _idle(run) if run.finished and not request.flags.disable_eviction else ():
        if each.corrected is None:
            continue
        before = run.before
        fixed = before.with_added([counted_budget(before.with_added([each.corrected]), each.corrected)])
        after = run_drain(cluster.moved(fixed), request, AnalysisHandle())
        then = f"{outcome(after)}; the budget protects the pods of {each.workload}"
        if not is_drained(after):
            causes = [one.cause for node in after.drained if node.blocked for one in node_causes(after, node)]
            then = f"the drain then waits: {causes[0]}" if causes else "the drain then waits"
        yield CureData(
            f"correct the selector of budget {each.budget.namespace}/{each.budget.name} first: "
            f"{each.instead} instead of {each.selected}",
            then,
            (each.command,),
        )

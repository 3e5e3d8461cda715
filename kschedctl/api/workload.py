"""The controllers of pods (apps/v1) and disruption budgets (policy/v1), as far as scheduling reads them."""

from __future__ import annotations

from kschedctl.api.meta import ApiObject, ApiStruct, LabelSelector, Time


class SelectorSpec(ApiStruct, frozen=True):
    """The spec of a kind with a LabelSelector."""

    selector: LabelSelector | None = None


class ReplicaSet(ApiObject, frozen=True, kw_only=True):
    spec: SelectorSpec = SelectorSpec()


class StatefulSet(ApiObject, frozen=True, kw_only=True):
    spec: SelectorSpec = SelectorSpec()


class PodDisruptionBudgetStatus(ApiStruct, frozen=True):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, Time] = {}
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0


class PodDisruptionBudget(ApiObject, frozen=True, kw_only=True):
    spec: SelectorSpec = SelectorSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()

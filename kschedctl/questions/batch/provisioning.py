"""Cases about Karpenter: a cluster and the instance types of its cloud, answered with the nodes that would be launched.

{"id": "...", "objects": [<objects>], "instanceTypes": [<instance types>], "flags": ["--preference-policy=Ignore"]}

With ``"disruption": true``, the answer is what Karpenter would do with each node instead.
"""

import json
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kschedctl.autoscaler.instance_types import InstanceType
from kschedctl.autoscaler.karpenter.budgets import EMPTY, UNDERUTILIZED
from kschedctl.autoscaler.karpenter.disruption import Decision, Disruptions
from kschedctl.autoscaler.karpenter.new_nodes import NewNode
from kschedctl.autoscaler.karpenter.provisioner import Plan, Settings, provision
from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.objects.meta import Time
from kschedctl.objects.pod import Container, Pod, TopologySpreadConstraint
from kschedctl.objects.quantity import Amount, QuantityError, check_quantities
from kschedctl.questions.batch.cases import Answer, CaseCluster, read_case_object

#: The API group of the NodeClasses in cases.
_CLASSES: Final = frozenset({"karpenter.k8s.aws"})
_POLICIES: Final = {"--preference-policy": ("Respect", "Ignore"), "--min-values-policy": ("Strict", "BestEffort")}
_CONFIG: Final = "--scheduler-config"


class ProvisioningCase(CaseCluster, frozen=True, kw_only=True, rename="camel"):
    """A case about the nodes that Karpenter launches in one round."""

    instance_types: tuple[InstanceType, ...]
    #: Flags of Karpenter.
    flags: tuple[str, ...] = ()
    now: Time = datetime(2026, 11, 1, tzinfo=UTC)
    #: The names of nodes that Karpenter has decided to take away, and of those that it expects to get a pod.
    marked_for_deletion: tuple[str, ...] = ()
    nominated: tuple[str, ...] = ()
    #: True to ask what becomes of the nodes.
    disruption: bool = False


def case_answer(case: ProvisioningCase) -> Answer:
    """Return the answer for a case in the form of recorded ones.

    Raises InputError if an object, an instance type or a flag is invalid.
    """
    cluster, settings = _read(case)
    if case.disruption:
        return _disruption_answer(case.id, Disruptions(cluster, case.instance_types, settings))
    return plan_answer(case.id, provision(cluster, case.instance_types, settings))


def plan_of(case: ProvisioningCase) -> Plan:
    """Return what becomes of the pods of a case.

    Raises InputError if an object, an instance type or a flag is invalid.
    """
    cluster, settings = _read(case)
    return provision(cluster, case.instance_types, settings)


def _read(case: ProvisioningCase) -> tuple[Cluster, Settings]:
    builder = ClusterBuilder()
    for i, data in enumerate(case.objects):
        obj = read_case_object(data, f"objects[{i}]")
        if obj is not None:
            builder.add(_without_limits(obj) if isinstance(obj, Pod) else obj, f"objects[{i}]")
    for i, each in enumerate(case.instance_types):
        try:
            check_quantities(each)
        except QuantityError as error:
            raise InputError(str(error), path=f"instanceTypes[{i}].{error.path}") from None
    policies = {name: values[0] for name, values in _POLICIES.items()}
    constraints: tuple[TopologySpreadConstraint, ...] = ()
    for i, flag in enumerate(case.flags):
        name, _, value = flag.partition("=")
        if name == _CONFIG:
            constraints = _default_constraints(value, f"flags[{i}]")
        elif value in _POLICIES.get(name, ()):
            policies[name] = value
        else:
            raise InputError(f"{flag} is not a flag that cases can have", path=f"flags[{i}]")
    settings = Settings(
        classes=_CLASSES,
        prefers=policies["--preference-policy"] == "Respect",
        best_effort=policies["--min-values-policy"] == "BestEffort",
        default_constraints=constraints,
        going=frozenset(case.marked_for_deletion),
        now=case.now,
    )
    return builder.build(), settings


def _without_limits(pod: Pod) -> Pod:
    """Return a pod of a case without limits: what it does not request is no default, but nothing."""

    def bare(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(replace(each, resources=replace(each.resources, limits={})) for each in containers)

    spec = pod.spec
    return replace(
        pod, spec=replace(spec, containers=bare(spec.containers), init_containers=bare(spec.init_containers))
    )


def _default_constraints(text: str, path: str) -> tuple[TopologySpreadConstraint, ...]:
    try:
        config: Any = json.loads(text)
        found = config.get("podTopologySpread", {}).get("defaultConstraints", [])
        return msgspec.convert(found, tuple[TopologySpreadConstraint, ...])
    except (ValueError, AttributeError) as error:
        raise InputError(f"{_CONFIG} cannot be read: {error}", path=path) from None


def plan_answer(case_id: str, plan: Plan) -> Answer:
    """Return a plan in the form of recorded answers of Karpenter."""
    if plan.waits:
        return {"id": case_id, "waiting": True}
    fates: dict[str, Answer] = {pod: {"ignored": text} for pod, text in plan.ignored.items()}
    fates |= {pod: {"error": text} for pod, text in plan.errors.items()}
    fates |= {pod: {"node": node} for pod, node in plan.placed.items()}
    fates |= {pod: {"claim": number} for number, node in enumerate(plan.nodes) for pod in node.pods}
    out: Answer = {"id": case_id, "pods": fates}
    if plan.nodes:
        out["claims"] = [_claim(node) for node in plan.nodes]
    if plan.refusals:
        events = (f"{pool}: NoCompatibleInstanceTypes: {text}" for pool, text in plan.refusals.items())
        out["nodePoolEvents"] = sorted(events)
    return out


def _disruption_answer(case_id: str, disruptions: Disruptions) -> Answer:
    if disruptions.waits:
        return {"id": case_id, "waiting": True}
    nodes: dict[str, Answer] = {}
    for each in disruptions.every():
        nodes[each.node] = {"decision": each.decision.value}
        if each.decision is Decision.KEEP:
            nodes[each.node]["said"] = each.said
        else:
            nodes[each.node]["reason"] = EMPTY if each.is_empty else UNDERUTILIZED
        if each.replacement is not None:
            nodes[each.node]["claim"] = _claim(each.replacement)
    budgets = {reason: disruptions.budgets(reason) for reason in (EMPTY, UNDERUTILIZED)}
    return {"id": case_id, "disruption": nodes, "budgets": budgets}


def _claim(node: NewNode) -> Answer:
    spec = node.pool.pool.spec.template.spec
    said = {
        "nodePool": node.pool.name,
        "requirements": list(node.requirements),
        "instanceTypes": sorted(each.name for each in node.types),
        "requests": {name: str(Amount(nanos)) for name, nanos in node.requests.items()},
        "taints": [str(each) for each in spec.taints],
        "startupTaints": [str(each) for each in spec.startup_taints],
        "minValuesRelaxed": node.min_values_relaxed,
        "pods": list(node.pods),
    }
    return {name: value for name, value in said.items() if value or name not in ("taints", "startupTaints")}

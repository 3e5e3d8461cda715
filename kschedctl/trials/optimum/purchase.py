"""Catalogs of node kinds that can be bought, with prices.

.. code-block:: yaml

    kinds:
    - name: general-4
      price: 0.192            # of one node, in any unit; text or a number, at most six decimals
      most: 10                # the number of available nodes; unlimited by default
      allocatable: {cpu: 3920m, memory: 14Gi, pods: 58}
      labels: {topology.kubernetes.io/zone: eu-1a}
      taints: [{key: dedicated, value: batch, effect: NoSchedule}]

The instance types of a cloud, in the form of ``provision --instance-types``, are a catalog too.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from decimal import Decimal, InvalidOperation
from typing import Any, Final, cast

import numpy as np

from kschedctl.autoscaler.catalog import read_catalog as read_instance_types
from kschedctl.autoscaler.catalog import type_labels
from kschedctl.autoscaler.instance_types import CAPACITY_TYPE, RESERVED, InstanceType, allocatable
from kschedctl.common.errors import InputError
from kschedctl.common.findings import Finding
from kschedctl.common.text.json_text import decoded_json
from kschedctl.common.text.yaml import yaml_documents
from kschedctl.objects.core import Node, NodeSpec, NodeStatus, Taint
from kschedctl.objects.meta import ApiStruct, ObjectMeta
from kschedctl.objects.names import label_value_problems, qualified_name_problems, subdomain_problems
from kschedctl.objects.quantity import QUANTITY_HINT, parse_quantity, quantity_problem, quantity_text
from kschedctl.objects.resources import CPU, MEMORY, PODS
from kschedctl.objects.well_known import HOSTNAME, ZONE
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import Decoder
from kschedctl.scheduler.framework.config.validation import Problems
from kschedctl.sources.snapshot.files import file_bytes
from kschedctl.sources.snapshot.positions import position_of
from kschedctl.trials.optimum.comparison import simulate_pending
from kschedctl.trials.optimum.goals import Goal, GoalResult, Opened, Running
from kschedctl.trials.optimum.kinds import Placement
from kschedctl.trials.optimum.question import PlacementQuestion, no_evictions, pose
from kschedctl.trials.optimum.search import Best, best
from kschedctl.trials.optimum.trial import Proof, prove
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import with_more_nodes

#: Prices are counted in millionths.
UNIT: Final = 1_000_000
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_PRICE_HINT: Final = "a non-negative number with at most six decimals, such as 0.192"
_INSTANCE_TYPES: Final = "instanceTypes"
_KINDS_HINT: Final = "kinds: a list of kinds of nodes, each with name, price and allocatable"


class NodeKind(ApiStruct, frozen=True):
    """A kind of node."""

    #: The prefix of the nodes' names.
    name: str = ""
    price: str = ""
    #: The number of available nodes; ``None`` for unlimited.
    most: int | None = None
    #: The allocatable resources of one node.
    allocatable: dict[str, str] = {}
    #: The nodes' labels; the hostname label is added.
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()

    @property
    def cost(self) -> int:
        """The price, in millionths."""
        return int(Decimal(self.price) * UNIT)

    def node(self, number: int) -> Node:
        """Return the node with a number, counted from 1."""
        name = f"{self.name}-new-{number}"
        offers = cast("dict[str, Any]", dict(self.allocatable))
        return Node(
            metadata=ObjectMeta(name=name, labels={**self.labels, HOSTNAME: name}),
            spec=NodeSpec(taints=self.taints),
            status=NodeStatus(capacity=offers, allocatable=offers),
        )


class Catalog(ApiStruct, frozen=True):
    """The kinds of nodes that can be bought."""

    kinds: tuple[NodeKind, ...] = ()


def read_catalog(path: str) -> Catalog:
    """Read a catalog: kinds of nodes, or instance types, of which each offering is a kind.

    Raises InputError with all problems, each with its line and column.
    """
    _, document = next(yaml_documents(file_bytes(path), path), (1, b"null"))
    try:
        data = decoded_json(document)
    except ValueError as error:
        raise InputError(f"cannot be read: {error}", where=path) from None
    if isinstance(data, Mapping) and _INSTANCE_TYPES in data:
        return Catalog(kinds=tuple(_kinds(read_instance_types(path), path)))
    if not isinstance(data, Mapping):
        raise InputError("is not an object", where=path, hint=_KINDS_HINT)
    problems = Problems()
    kinds = data.get("kinds")
    catalog = Decoder(problems, frozenset()).struct(
        data
        if not isinstance(kinds, list)
        else {**data, "kinds": [_kind_with_texts(kind) if isinstance(kind, Mapping) else kind for kind in kinds]},
        Catalog,
        "",
    )
    found = [*problems.found, *_findings(catalog)]
    InputError.raise_any([_with_position(finding, path) for finding in found])
    return catalog


def _kinds(types: Sequence[InstanceType], path: str) -> Iterator[NodeKind]:
    """Yield a kind of node for each way in which an instance type can be had."""
    if not any(each.price for kind in types for each in kind.offerings):
        raise InputError("its instance types have no prices", where=path, hint="offerings: a price per hour for each")
    for kind in types:
        offered = {name: quantity_text(max(amount, 0)) for name, amount in allocatable(kind).items()}
        for each in kind.offerings:
            if each.is_launchable:
                yield NodeKind(
                    name=f"{kind.name}-{each.zone}-{each.capacity_type}".lower(),
                    price=f"{each.price:.6f}",
                    most=each.reservation_capacity if each.capacity_type == RESERVED else None,
                    allocatable=dict(offered),
                    labels={**type_labels(kind), ZONE: each.zone, CAPACITY_TYPE: each.capacity_type},
                )


def _with_position(finding: Finding, path: str) -> Finding:
    """Add line and column to a finding, in the form ``FILE:LINE:COLUMN``, which editors can open."""
    found = with_fields(finding, place=path)
    position = position_of(found)
    if position is None:
        return found
    return with_fields(found, place=f"{path}:{position.line}:{position.column}", position=position)


def _kind_with_texts(kind: Mapping[str, Any]) -> Mapping[str, Any]:
    out = dict(kind)
    if "price" in kind:
        out["price"] = _number_as_text(kind["price"])
    if isinstance(kind.get("allocatable"), Mapping):
        out["allocatable"] = {key: _number_as_text(amount) for key, amount in kind["allocatable"].items()}
    return out


def _number_as_text(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _findings(catalog: Catalog) -> Iterator[Finding]:
    if not catalog.kinds:
        yield Finding("no kind of node is defined", "kinds", _KINDS_HINT)
    names: set[str] = set()
    for i, kind in enumerate(catalog.kinds):
        path = f"kinds[{i}]"
        if not kind.name:
            yield Finding("Required value", f"{path}.name", "the prefix of the names of its nodes")
        for problem in subdomain_problems(kind.name) if kind.name else ():
            yield Finding(problem, f"{path}.name")
        if kind.name in names:
            yield Finding(f'"{kind.name}" is defined twice', f"{path}.name")
        names.add(kind.name)
        if not _is_price(kind.price):
            problem = f'"{kind.price}" is not a price' if kind.price else "Required value"
            yield Finding(problem, f"{path}.price", _PRICE_HINT)
        if kind.most is not None and kind.most < 0:
            yield Finding("must not be negative", f"{path}.most")
        yield from _offer_findings(kind, path)


def _offer_findings(kind: NodeKind, path: str) -> Iterator[Finding]:
    for resource, amount in kind.allocatable.items():
        problem = quantity_problem(amount)
        if problem:
            yield Finding(f'"{amount}": {problem}', f"{path}.allocatable[{resource}]", QUANTITY_HINT)
        elif parse_quantity(amount) < 0:
            yield Finding("must not be negative", f"{path}.allocatable[{resource}]")
    for resource in (CPU, MEMORY, PODS):
        if resource not in kind.allocatable:
            yield Finding(f"{resource} is missing", f"{path}.allocatable", "cpu, memory and pods are required")
    for key, value in kind.labels.items():
        for problem in (*qualified_name_problems(key), *label_value_problems(value)):
            yield Finding(problem, f"{path}.labels[{key}]")
    for i, taint in enumerate(kind.taints):
        if not taint.key:
            yield Finding("Required value", f"{path}.taints[{i}].key")
        if taint.effect not in _EFFECTS:
            yield Finding(
                f'"{taint.effect}" is not a taint effect', f"{path}.taints[{i}].effect", " or ".join(_EFFECTS)
            )


def _is_price(text: str) -> bool:
    try:
        price = Decimal(text)
    except InvalidOperation:
        return False
    return price.is_finite() and price >= 0 and price * UNIT == int(price * UNIT)


# Purchase of the cheapest nodes on which all pending pods can be placed without evictions.
#
# The search runs over a cluster with as many nodes of every kind in the catalog as could be needed. The DaemonSet pods
# of
# new nodes count as placed. The result is verified over the cluster with the bought nodes alone.


@dataclass(frozen=True, slots=True)
class Purchase:
    """Nodes to buy."""

    #: The bought nodes, each with its kind.
    nodes: tuple[tuple[NodeKind, Node], ...]
    #: The placement over the cluster with all nodes that could be bought.
    best: Best
    #: The question over the cluster with the bought nodes alone.
    question: PlacementQuestion
    #: The verified placement over that cluster; ``None`` if the filters refuse it.
    proof: Proof | None
    #: The simulation of the scheduler over that cluster.
    simulation: Simulation

    @property
    def cost(self) -> int:
        """The total cost, in millionths."""
        return sum(kind.cost for kind, _ in self.nodes)

    @property
    def price(self) -> GoalResult:
        """The result for the goal of the lowest price."""
        return next(s for s in self.best.standings if isinstance(s.goal, Opened) and s.goal.prices)


def buy(
    scheduler: Scheduler, catalog: Catalog, *, seconds: float, choose: Choose = first_by_name, proves: bool = False
) -> Purchase:
    """Find the cheapest nodes that place every pending pod, or else the most pods by priority.

    Args:
        seconds: The time limit of the solver.
        choose: Breaks ties in the simulation.
        proves: True to search until the time limit or a proof.
    """
    n_waiting = pose(scheduler, no_evictions).n_waiting
    offers = [
        (kind, kind.node(number + 1))
        for kind in catalog.kinds
        for number in range(n_waiting if kind.most is None else min(kind.most, n_waiting))
    ]
    everything = with_more_nodes(scheduler.cluster, [node for _, node in offers])
    question = pose(scheduler.moved(everything), no_evictions)
    row = question.cluster.nodes.row
    prices = {row[node.name]: kind.cost for kind, node in offers}
    goals: list[Goal] = [Running(each) for each in sorted({kind.priority for kind in question.kinds}, reverse=True)]
    goals += [Opened(prices, "price"), Opened(dict.fromkeys(prices, 1), "nodes")]
    found = best(question, seconds=seconds, goals=goals, proves=proves)
    bought = tuple((kind, node) for kind, node in offers if row[node.name] in found.placement.rows)
    there = scheduler.moved(with_more_nodes(scheduler.cluster, [node for _, node in bought]))
    own = pose(there, no_evictions)
    names, row = question.cluster.nodes.names, own.cluster.nodes.row
    kinds = {pod.key: k for k, kind in enumerate(own.kinds) for pod in kind.pods}
    of = [kinds[kind.pods[0].key] for kind in question.kinds]
    proof = prove(own, Placement({(of[k], row[names[at]]): n for (k, at), n in found.placement.placed.items() if n}))
    # Bounds do not hold if nodes of the catalog add domains to a spread constraint.
    offered = np.zeros(len(question.cluster.nodes), dtype=np.bool_)
    offered[list(prices)] = True
    columns = [domains.column.codes for kind in question.kinds for domains in kind.filters.spread]
    if any(set(codes[offered].tolist()) - set(codes[~offered].tolist()) - {-1} for codes in columns):
        standings = tuple(
            with_fields(s, bound=s.bound if isinstance(s.goal, Running) and s.proven else None) for s in found.standings
        )
        found = with_fields(found, standings=standings)
    return Purchase(bought, found, own, proof if isinstance(proof, Proof) else None, simulate_pending(there, choose))

"""Node selection of pod templates: requirements that exclude one another, and the label values that remain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kschedctl.linter.pods import PREFERRED, AnyPart, WorkloadPods
from kschedctl.linter.values import Steps, at, is_rendered, items, mapping, numbered, text
from kschedctl.objects.core import Taint
from kschedctl.objects.pod import NO_SCHEDULE
from kschedctl.objects.selectors import DOES_NOT_EXIST, EXISTS, GT, IN, LT, NOT_IN, parse_int64
from kschedctl.objects.well_known import HOSTNAME

_NODE_NAME: Final = "metadata.name"
_DEMANDS: Final = (IN, EXISTS, GT, LT)


class Demand(NamedTuple):
    """A requirement on a label or field of a node, from the node selector or a node affinity term."""

    #: Key, operator and values as written; the key of a field begins with ``field ``.
    key: str
    operator: str
    values: tuple[str, ...]
    #: The path of the requirement.
    steps: Steps

    def __str__(self) -> str:
        if self.operator in (EXISTS, DOES_NOT_EXIST):
            return f"{self.key} {self.operator}"
        if self.operator == IN and len(self.values) == 1:
            return f"{self.key}={self.values[0]}"
        return f"{self.key} {self.operator} {', '.join(self.values)}"


class Clash(NamedTuple):
    """The reason why a term can match no node, with the path of the requirement to blame."""

    why: str
    steps: Steps


@dataclass
class _OfKey:
    """The requirements on one key."""

    demands: list[Demand] = field(default_factory=list)

    def values(self) -> set[str] | None:
        """Return the values that the requirements allow; ``None`` if they are not limited to a list."""
        sets = [set(each.values) for each in self.demands if each.operator == IN]
        if not sets:
            return None
        left = set.intersection(*sets)
        for each in self.demands:
            if each.operator == NOT_IN:
                left -= set(each.values)
            elif each.operator in (GT, LT) and (bound := _compared_number(each)) is not None:
                numbers = {value: number for value in left if (number := parse_int64(value)) is not None}
                above = each.operator == GT
                left = {value for value, number in numbers.items() if (number > bound if above else number < bound)}
        return left

    def clash(self) -> Clash | None:
        """Return the reason why no value is allowed, if that is so."""
        for each in self.demands:
            if each.operator in (GT, LT) and _compared_number(each) is None:
                return Clash(
                    f'{each.operator} compares with "{each.values[0]}", which is not a whole number', each.steps
                )
        absent = next((each for each in self.demands if each.operator == DOES_NOT_EXIST), None)
        wanted = next((each for each in self.demands if each.operator in _DEMANDS), None)
        if absent is not None and wanted is not None:
            return Clash(f"{absent} and {wanted} exclude one another", _later(absent, wanted).steps)
        left = self.values()
        if left is not None and not left:
            narrowing = [each for each in self.demands if each.operator in (IN, NOT_IN, GT, LT)]
            words = " and ".join(map(str, narrowing))
            return Clash(f"{words} allow no value", narrowing[-1].steps)
        above = [(_compared_number(each), each) for each in self.demands if each.operator == GT]
        below = [(_compared_number(each), each) for each in self.demands if each.operator == LT]
        for low, lower in above:
            for high, upper in below:
                if low is not None and high is not None and high - low < 2:
                    return Clash(f"{lower} and {upper} allow no whole number", _later(lower, upper).steps)
        return None


def _compared_number(demand: Demand) -> int | None:
    return parse_int64(demand.values[0])


def _later(one: Demand, other: Demand) -> Demand:
    """Return the requirement of a term rather than that of the node selector; of two in a term, the later one."""
    return max(one, other, key=lambda each: (len(each.steps), each.steps[-1] if isinstance(each.steps[-1], int) else 0))


def demands_of(term: Any, steps: Steps) -> list[Demand]:
    """Return the requirements of a term, without those that the API server refuses or that have placeholders."""
    found = []
    for name in ("matchExpressions", "matchFields"):
        for way, raw in numbered(at(term, name), (*steps, name)):
            key, operator = text(at(raw, "key")), text(at(raw, "operator"))
            values = items(at(raw, "values"))
            if not key or not is_rendered(raw) or not all(isinstance(value, str) for value in values):
                continue
            if operator in (IN, NOT_IN) and not values:
                continue
            if operator in (GT, LT) and len(values) != 1:
                continue
            field_key = f"field {key}" if name == "matchFields" else key
            found.append(Demand(field_key, operator, tuple(values), way))
    return found


def selector_demands(pods: WorkloadPods) -> list[Demand]:
    """Return the requirements of the node selector."""
    steps = pods.of_spec("nodeSelector")
    return [
        Demand(key, IN, (value,), (*steps, key)) if is_rendered(value) else Demand(key, EXISTS, (), (*steps, key))
        for key, value in pods.node_selector.items()
        if isinstance(value, str) and is_rendered(key)
    ]


def _by_key(demands: Sequence[Demand]) -> dict[str, _OfKey]:
    found: dict[str, _OfKey] = {}
    for demand in demands:
        found.setdefault(demand.key, _OfKey()).demands.append(demand)
    return found


def clash(term: Any, steps: Steps, selector: Sequence[Demand] = ()) -> Clash | None:
    """Return the reason why a term and the node selector together can match no node; ``None`` if they can."""
    if isinstance(term, dict) and not term.get("matchExpressions") and not term.get("matchFields"):
        return Clash("an empty term matches no node", steps) if not term or is_rendered(term) else None
    for of_key in _by_key([*selector, *demands_of(term, steps)]).values():
        if (found := of_key.clash()) is not None:
            return found
    return None


def clashes(pods: WorkloadPods) -> tuple[list[Clash], int]:
    """Return the clashes of the required terms that can match no node, and the number of all required terms."""
    terms = pods.node_terms or []
    selector = selector_demands(pods)
    found = [each for steps, term in terms if (each := clash(term, steps, selector)) is not None]
    return found, len(terms)


def preferred_terms(pods: WorkloadPods) -> Iterator[tuple[Steps, Any]]:
    """Yield the terms of the preferred node affinity, each with its path."""
    steps = pods.of_spec("affinity", "nodeAffinity", PREFERRED)
    for way, raw in numbered(at(pods.obj.raw, *steps), steps):
        yield (*way, "preference"), at(raw, "preference")


def pinned(pods: WorkloadPods, key: str) -> set[str] | None:
    """Return the values of a label that node selector and required affinity allow; ``None`` if they do not limit it."""
    selector = selector_demands(pods)
    if pods.node_terms is None:
        own = _by_key(selector).get(key)
        return None if own is None else own.values()
    left: set[str] = set()
    for steps, term in pods.node_terms:
        if not is_rendered(term):
            return None
        if clash(term, steps, selector) is not None:
            continue
        demands = _by_key([*selector, *demands_of(term, steps)])
        of_key = demands.get(key)
        values = None if of_key is None else of_key.values()
        if values is None and key == HOSTNAME and (by_name := demands.get(f"field {_NODE_NAME}")) is not None:
            values = by_name.values()
        if values is None:
            return None
        left |= values
    return left


def wanted_keys(pods: WorkloadPods, keys: Sequence[str]) -> tuple[Steps, str] | None:
    """Return the path and key of the requirement that limits pods to nodes with one of some labels, else ``None``.

    Pods are limited to these nodes if the node selector has one of the labels, or every required term demands one.
    """
    for key in keys:
        if key in pods.node_selector:
            return pods.of_spec("nodeSelector", key), key
    found: list[tuple[Steps, str]] = []
    for steps, term in pods.node_terms or ():
        demanded = [each for each in demands_of(term, steps) if each.key in keys and each.operator in (IN, EXISTS)]
        if not demanded:
            return None
        found.append(((*demanded[0].steps, "key"), demanded[0].key))
    return found[0] if found else None


def label_uses(pods: WorkloadPods) -> Iterator[tuple[Steps, str, bool]]:
    """Yield the uses of node labels: the path of the name, the label, and true if the name is a key of a mapping."""
    for key in mapping(pods.node_selector):
        yield pods.of_spec("nodeSelector", key), key, True
    terms = [*(pods.node_terms or ()), *preferred_terms(pods)]
    for steps, term in terms:
        for way, raw in numbered(at(term, "matchExpressions"), (*steps, "matchExpressions")):
            yield (*way, "key"), text(at(raw, "key")), False
    yield from topology_keys(pods)


def topology_keys(pods: WorkloadPods) -> Iterator[tuple[Steps, str, bool]]:
    """Yield the uses of node labels as topology keys, in the form of ``label_uses``."""
    parts: list[AnyPart] = [*pods.spread]
    for affinity in ("podAffinity", "podAntiAffinity"):
        for required in (True, False):
            parts += pods.terms(affinity, required=required)
    for part in parts:
        yield (*part.steps, "topologyKey"), text(part.raw.get("topologyKey")), False


# Labels and taints of control-plane nodes, present and former ones.

MASTER: Final = "node-role.kubernetes.io/master"
CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"
#: Similar keys that are not the control-plane key: the one of RKE, and a common mistake.
NEAR_MISSES: Final = ("node-role.kubernetes.io/controlplane", "node-role.kubernetes.io/control_plane")


def tolerates_master_only(pods: WorkloadPods) -> int | None:
    """Return the index of a toleration of the former taint if none tolerates the present one, else ``None``."""
    for index, part in enumerate(pods.tolerations):
        one = part.value
        if one is None or one.key != MASTER:
            continue
        if pods.is_repelled_by(Taint(key=CONTROL_PLANE, effect=one.effect or NO_SCHEDULE)):
            return index
    return None


def of_another_value(pods: WorkloadPods) -> str:
    """Return a clause about a toleration of the control-plane taint with a value; empty if there is none."""
    values = (part.value.value for part in pods.tolerations if part.value and part.value.key == CONTROL_PLANE)
    value = next(filter(None, values), "")
    return f'; a toleration with value "{value}" matches only a taint with that value' if value else ""

"""Node labels that the pod requires and no node has, although nodes have almost the same one."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.node_selection import nodes_matching, required_node_selector, runtime_class_selector
from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed, meant
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.evidence.node_autoscalers import expansion_of
from kschedctl.diagnosis.rules import obstacles
from kschedctl.objects.core import Node
from kschedctl.objects.selectors import IN, Requirement, SelectorError, label_map_selector, parse_node_term
from kschedctl.objects.well_known import (
    ARCH_LABELS,
    ARCHITECTURES,
    OS_LABELS,
    PLACE_LABELS,
    POOL_LABELS,
    PRESENT_LABELS,
    REPLACED_LABELS,
    instance_type_of,
    pool_name,
)
from kschedctl.scheduler.framework.remedy import (
    Operation,
    Remedy,
    add_operation,
    patched,
    remove_operation,
    replace_operation,
)
from kschedctl.scheduler.framework.risk import RemedyScope, Risk

_REQUIRED: Final = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
#: Values of labels that only say yes.
_YES: Final = frozenset(("", "true", "yes", "on", "1", "enabled"))
_PRODUCT: Final = "nvidia.com/gpu.product"
#: At most 2 corrections of one requirement are tried.
_MOST: Final = 2


class _Wanted(msgspec.Struct, frozen=True):
    """A label that the pod requires."""

    requirement: Requirement
    #: ``nodeSelector`` or ``node affinity``.
    field: str
    #: The path of the requirement in the pod.
    path: tuple[str | int, ...]
    #: True if the pod's RuntimeClass adds the requirement, so that it cannot be changed in the pod.
    of_class: bool = False


class _Correction(msgspec.Struct, frozen=True):
    """A label that nodes have, and that was probably meant."""

    #: The requirement to correct.
    wanted: _Wanted
    #: The label. The value is empty if only the key is corrected and the requirement has no value.
    key: str
    #: The label. The value is empty if only the key is corrected and the requirement has no value.
    value: str

    @property
    def words(self) -> str:
        """The corrected requirement as text."""
        old = self.wanted.requirement
        return str(Requirement(self.key, old.operator, (self.value,) if old.operator == IN else old.values))

    def patch(self) -> tuple[Operation, ...]:
        """Return the operations that correct the pod."""
        old = self.wanted.requirement
        if self.wanted.field == "nodeSelector":
            gone = () if old.key == self.key else (remove_operation("spec", "nodeSelector", old.key),)
            return (*gone, add_operation(self.value, "spec", "nodeSelector", self.key))
        values = (replace_operation([self.value], *self.wanted.path, "values"),) if old.operator == IN else ()
        return (replace_operation(self.key, *self.wanted.path, "key"), *values)


def mistyped_label(situation: Situation) -> Iterator[Diagnosis]:
    """Node labels that the pod requires and no node has, although nodes have almost the same one.

    The pod's nodeSelector or node affinity may have a typing mistake, another case, a key of the past such as
    ``beta.kubernetes.io/os`` or ``node-role.kubernetes.io/master``, or the wrong value of a flag, such as ``yes`` for
    ``true``. Operators correct the manifest. They do not give nodes a mistyped label, and they do not drop the requirement.
    If the labels exist on different nodes, or for another architecture, that is the cause.
    """
    # Yield the requirements on labels that no node meets, if the nodes have labels like them.
    if not situation.n_nodes or situation.selected.any() or situation.is_of_daemon_set:
        return
    unmet = [each for each in _requirements(situation) if not _holds(situation, each.requirement).any()]
    corrections = [list(_corrections(situation, each))[:_MOST] for each in unmet]
    if unmet and all(corrections):
        phrases = []
        for wanted, found in zip(unmet, corrections, strict=True):
            field = "the node affinity" if wanted.field == "node affinity" else wanted.field
            have = [f"{_nodes_as_subject(situation, each)} {each.words}" for each in found]
            phrases.append(f"{field} wants {wanted.requirement}, which no node has; {listed(have)}")
        remedies = [_correcting(situation, [found[0] for found in corrections], 0)]
        if len(corrections) == 1:
            remedies += [_correcting(situation, [each], i) for i, each in enumerate(corrections[0][1:], 1)]
        yield Diagnosis(rule="mistyped-label", cause="; ".join(phrases), remedies=tuple(remedies))
    elif unmet:
        yield next(_other_platform(situation, unmet), None) or _unknown(situation, unmet)
    else:
        met = [
            f"{each.requirement} on {counted(int(_holds(situation, each.requirement).sum()), 'node')}"
            for each in _requirements(situation)
        ]
        required = required_node_selector(situation.pod.spec)
        if required is not None and len(required.node_selector_terms) > 1:
            matching = int(nodes_matching(situation.cluster.nodes, required).sum())
            if not matching:
                return
            met.append(f"a term of the node affinity holds on {counted(matching, 'node')}")
        if len(met) > 1:
            yield Diagnosis(
                rule="labels-never-together", cause=f"no node has all labels that the pod requires: {listed(met)}"
            )


def _requirements(situation: Situation) -> Iterator[_Wanted]:
    """Yield the requirements of nodeSelector, and those of a required node affinity with a single term."""
    spec = situation.pod.spec
    of_class = runtime_class_selector(spec, situation.cluster)
    for each in label_map_selector(spec.node_selector):
        yield _Wanted(each, "nodeSelector", ("spec", "nodeSelector", each.key), each.key in of_class)
    required = required_node_selector(spec)
    terms = required.node_selector_terms if required is not None else ()
    if len(terms) != 1:
        return
    try:
        parsed = parse_node_term(terms[0])
    except SelectorError:
        return
    for i, each in enumerate(parsed.labels if parsed is not None else ()):
        yield _Wanted(each, "node affinity", (*_REQUIRED, "nodeSelectorTerms", 0, "matchExpressions", i))


def _holds(situation: Situation, requirement: Requirement) -> Mask:
    return situation.cluster.nodes.labels.matches((requirement,))


def _corrections(situation: Situation, wanted: _Wanted) -> Iterator[_Correction]:
    """Yield the labels that a requirement was probably meant for."""
    old, labels = wanted.requirement, situation.cluster.nodes.labels
    if old.operator not in ("In", "Exists") or wanted.of_class:
        return
    if not labels[old.key].present.any():
        for key in _other_keys(situation, old.key):
            have = labels[key].values
            if old.operator != IN:
                yield _Correction(wanted, key, "")
            elif value := next(iter([v for v in old.values if v in have] or _other_values(key, old.values, have)), ""):
                yield _Correction(wanted, key, value)
            elif "" in have and "" in old.values:
                yield _Correction(wanted, key, "")
        return
    for value in _other_values(old.key, old.values, labels[old.key].values):
        yield _Correction(wanted, old.key, value)


def _other_keys(situation: Situation, key: str) -> list[str]:
    """Return the labels of nodes that a key was probably meant for: renamed, or with a typing mistake."""
    known = {**PRESENT_LABELS, **REPLACED_LABELS, **{new: old for old, new in PRESENT_LABELS.items()}}
    nodes = situation.cluster.nodes
    if key in known and nodes.labels[known[key]].present.any():
        return [known[key]]
    keys = nodes.label_keys
    name = key.rpartition("/")[2]
    return meant(key, keys) or sorted(each for each in keys if each.rpartition("/")[2] == name)[:1]


def _other_values(key: str, values: tuple[str, ...], have: list[str]) -> list[str]:
    """Return the values of nodes that required values were probably meant for."""
    if key.endswith("instance-type"):
        return [other for value in values for other in have if other.casefold() == value.casefold()]
    if key in ARCH_LABELS:
        return [ARCHITECTURES[v.lower()] for v in values if ARCHITECTURES.get(v.lower()) in have]
    if key == _PRODUCT:
        # GPU feature discovery adds the suffix where GPUs are shared by time slicing.
        shared = [each for v in values for each in (f"{v}-SHARED", v.removesuffix("-SHARED")) if each in have]
        if shared:
            return shared
    if len(have) == 1 and have[0].casefold() in _YES and all(value.casefold() in _YES for value in values):
        return have
    return [other for value in values for other in meant(value, have)]


def _nodes_as_subject(situation: Situation, found: _Correction) -> str:
    """Return the nodes with the label of a correction as the subject of a sentence, with its verb."""
    old = found.wanted.requirement
    label = Requirement(found.key, old.operator, (found.value,) if old.operator == IN else old.values)
    names = situation.names(_holds(situation, label))
    have = "has" if len(names) == 1 else "have"
    return f"{listed(names)} {have}" if len(names) <= 3 else f"{len(names)} nodes have"


def _correcting(situation: Situation, corrections: list[_Correction], within: int) -> Remedy:
    told = [f"{each.words} instead of {each.wanted.requirement} in the {each.wanted.field}" for each in corrections]
    return situation.context().pod_patch(
        listed(told).replace("the nodeSelector", "nodeSelector"),
        *(operation for each in corrections for operation in each.patch()),
        risk=Risk.MISTAKE,
        family="mistyped label",
        within=within,
    )


def _other_platform(situation: Situation, unmet: list[_Wanted]) -> Iterator[Diagnosis]:
    """Yield an architecture or operating system that no node has."""
    for wanted in unmet:
        old, labels = wanted.requirement, situation.cluster.nodes.labels
        if old.key not in (*ARCH_LABELS, *OS_LABELS) or old.operator != IN or wanted.of_class:
            continue
        have = sorted(labels[old.key].values)
        value = old.values[0]
        if not have:
            continue
        yield Diagnosis(
            rule="other-platform",
            cause=f"{wanted.field} wants {old}, and no node has it: nodes have {listed(have)}",
            advice=(
                Advice(
                    summary=f"add a node with {old.key}={value}",
                    # Programs of another operating system are rewritten, not rebuilt.
                    risk=Risk.MISTAKE if old.key in OS_LABELS else Risk.CAPACITY,
                    untried="the snapshot has no such node to copy",
                ),
                Advice(
                    summary=f"use an image for {listed(have, 'or')}, and change {wanted.field} to match",
                    risk=Risk.POD,
                    untried="the snapshot does not show for which platforms the image is built",
                ),
            ),
        )
        return


def _unknown(situation: Situation, unmet: list[_Wanted]) -> Diagnosis:
    """Return the requirements that no node meets, with the values that nodes have instead."""
    base = next(obstacles.obstacles(situation))
    facts: list[str] = []
    advice: list[Advice] = []
    for each in unmet:
        key, wanted = each.requirement.key, listed(list(each.requirement.values), "or")
        values = sorted(situation.cluster.nodes.labels[key].values)
        have = f"nodes have {listed([f'{key}={value}' for value in values])}" if values else ""
        facts.append(have or f"no node has a label {key}")
        if each.requirement.operator != IN:
            continue
        if key not in PLACE_LABELS:
            found = expansion_of(situation)
            if found is not None and (found.offer is not None or found.changes):
                continue
            summary = f"add a node with {key}={wanted}, or scale its pool up if it has 0 nodes"
            advice.append(Advice(summary=summary, risk=Risk.CAPACITY, untried="the snapshot has no such node to copy"))
        elif values and not each.of_class:
            summary = f"{key} {listed(values, 'or', most=5)} instead of {wanted} in the {each.field}"
            advice.append(
                Advice(
                    summary=summary.replace("the nodeS", "nodeS"),
                    risk=Risk.MISTAKE,
                    untried="the snapshot does not show which of them is meant",
                )
            )
    if any(each.of_class for each in unmet):
        name = situation.pod.spec.runtime_class_name
        advice.append(
            Advice(
                summary=f"another runtimeClassName than {name}, or none, if the pod can run with another runtime",
                risk=Risk.DROPPED,
                untried=f"the snapshot does not show whether the pod needs {name}",
            )
        )
    return replace(base, evidence=tuple(facts), advice=tuple(advice))


#: The nodes of a pool that are patched to try the label, at most; at most 3 nodes and pods are named.
_PATCHED: Final = 20
_NAMED: Final = 3


def lost_label(situation: Situation) -> Iterator[Diagnosis]:
    """A label that the pod requires and that only a part of the nodes of a pool has.

    Labels that somebody has set by hand are gone when an upgrade or an autoscaler replaces a node: the new node has the
    labels in the definition of its pool alone. Other nodes of the pool still have the label, or a pod with the same
    nodeSelector still runs on a node that no longer matches it. Operators put the label into the definition of the pool,
    such as the node group or the NodePool.
    """
    # Yield the first required label that nodes which would hold the pod lack, and that their pool has, or had.
    if not situation.filtered or situation.is_of_daemon_set:
        return
    others = [plugin for plugin in situation.rejected if plugin != "NodeAffinity"]
    fitting = ~situation.selected & ~situation.rejected_by(*others)
    if not fitting.any() or not situation.rejected_by("NodeAffinity").any():
        return
    every = list(_requirements(situation))
    for wanted in every:
        old = wanted.requirement
        if old.operator not in (IN, "Exists") or old.key in PLACE_LABELS or wanted.of_class:
            continue
        lacking = fitting & ~situation.cluster.nodes.labels[old.key].present
        for other in every:
            if other is not wanted:
                lacking &= _holds(situation, other.requirement)
        found = next(chain(_unlike_its_pool(situation, old, lacking), _unlike_its_pods(situation, old, lacking)), None)
        if found is not None:
            yield _lost(situation, wanted, found)
            return


class _Lost(msgspec.Struct, frozen=True):
    """Nodes without a label that they probably had."""

    rows: list[int]
    #: The pool in words.
    pool: str
    #: The sign of the loss, as a relative clause about the label.
    sign: str
    #: True if the nodes surely had the label, or were created after those that have it.
    certain: bool


def _unlike_its_pool(situation: Situation, wanted: Requirement, lacking: Mask) -> Iterator[_Lost]:
    """Yield the nodes without a label of pools in which other nodes have it."""
    having: dict[str, list[Node]] = {}
    for node in situation.nodes(_holds(situation, wanted)):
        having.setdefault(_pool(node), []).append(node)
    if not having:
        return
    without: dict[str, list[int]] = {}
    for row in all_rows(lacking):
        without.setdefault(_pool(situation.cluster.nodes.objects[row]), []).append(row)
    for pool in [pool for pool in without if pool and pool in having]:
        rows, one = without[pool], len(having[pool]) == 1
        names = listed([situation.cluster.nodes.names[row] for row in rows], most=_NAMED)
        has = f"{listed([node.name for node in having[pool]], most=_NAMED)} of {pool} {'has' if one else 'have'}"
        made = [node.metadata.creation_timestamp for node in having[pool]]
        later = [situation.cluster.nodes.objects[row].metadata.creation_timestamp for row in rows]
        newer = all(old and new and old < new for old in made for new in later)
        # A label that few nodes of a pool have may be meant for them alone.
        if newer or len(having[pool]) >= len(rows):
            has_not = f"but {names} {'has' if len(rows) == 1 else 'have'} not"
            yield _Lost(rows, pool, f"which {has}, {has_not}", newer)


def _unlike_its_pods(situation: Situation, wanted: Requirement, lacking: Mask) -> Iterator[_Lost]:
    """Yield the nodes without a label on which pods run that require it."""
    pods = situation.cluster.pods
    selecting = pods.selecting
    selecting = selecting[pods.node_row[selecting] >= 0]
    users: dict[int, list[str]] = {}
    for index in selecting[lacking[pods.node_row[selecting]]].tolist():
        if pods.records[index].spec.node_selector.get(wanted.key) in wanted.values:
            users.setdefault(int(pods.node_row[index]), []).append(pods.key(index))
    for row, names in sorted(users.items()):
        node, one = situation.cluster.nodes.objects[row], len(names) == 1
        run = f"{listed(names, most=_NAMED)}, which {'requires' if one else 'require'} it as well, still"
        sign = f"which {node.name} has lost: pod{'' if one else 's'} {run} run{'s' if one else ''} there"
        yield _Lost([row], _pool(node), sign, certain=True)


def _lost(situation: Situation, wanted: _Wanted, lost: _Lost) -> Diagnosis:
    """Return the diagnosis of a lost label, with the label as the cure."""
    old, nodes = wanted.requirement, situation.cluster.nodes.objects
    value = old.values[0] if old.values else "true"
    label, pool = f"{old.key}={value}", lost.pool
    names = listed([nodes[row].name for row in lost.rows], most=_NAMED)
    summary = f"put the label {label} into the definition of {pool}, and give it to {names}"
    commands = " ".join(nodes[row].name for row in lost.rows[:_PATCHED])
    return Diagnosis(
        rule="lost-label",
        cause="; ".join(
            part
            for part in (
                f"{wanted.field} wants {old}, {lost.sign}",
                obstacles.obstacles_on(situation, situation.in_reach),
            )
            if part
        ),
        remedies=(
            Remedy(
                summary=summary if pool else f"give {names} the label {label} again, where the node is created",
                scope=RemedyScope.NODE,
                changes=tuple(
                    patched(
                        nodes[row], add_operation({**nodes[row].metadata.labels, old.key: value}, "metadata", "labels")
                    )
                    for row in lost.rows[:_PATCHED]
                ),
                risk=Risk.MISTAKE if lost.certain else Risk.SHARED,
                # The labels of single nodes add nothing to it.
                family=("label", label),
                within=-1.0,
                once=True,
                command=f"kubectl label nodes {commands} {label}  # until the nodes are replaced",
            ),
        ),
        checks=(f"kubectl get nodes -L {old.key}",),
    )


def _pool(node: Node) -> str:
    """Return the pool of a node in words; empty if its labels and its name tell none."""
    labels = node.metadata.labels
    for key, noun in POOL_LABELS.items():
        if labels.get(key):
            return f"{noun} {labels[key]}"
    if name := pool_name(labels):
        return f"pool {name}"
    prefix, kind = node.name.rpartition("-")[0], instance_type_of(labels)
    return f"the nodes {prefix}-* of type {kind}" if prefix and kind else ""

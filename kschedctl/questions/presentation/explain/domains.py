"""The topology domains that constraints count: a table for a node, and bars for the whole cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import UNSET

from kschedctl.common.wording import counted
from kschedctl.questions.answers.explain import ConstraintData, NodeData, ReasonData
from kschedctl.questions.presentation.charts import Bar, Bars, Kind, Segment
from kschedctl.questions.presentation.document import GAP, Document, Paragraph, table
from kschedctl.questions.presentation.tone import Tone
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import ExistingAntiAffinity, OwnAntiAffinity, PodsInTheWay
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import SkewTooHigh

#: The most domains that have a bar.
_MOST_DOMAINS: Final = 60
_SPREAD_KINDS: Final = (
    Kind("matching pods, where the pod is accepted", Tone.GOOD),
    Kind("matching pods, where the skew would be too high", Tone.BAD),
    Kind("this pod", Tone.CAUTION),
)
_REQUIRED: Final = (Kind("pods that match all terms", Tone.GOOD),)
_AFFINITY_KINDS: Final = {
    OwnAntiAffinity: Kind("pods that the pod's anti-affinity selects", Tone.BAD),
    ExistingAntiAffinity: Kind("pods whose anti-affinity selects the pod", Tone.MIXED),
}


def domains_section(reasons: Iterable[ReasonData]) -> Document:
    """Lay out the number of matching pods per domain, for every reason that has it."""
    for reason in reasons:
        if isinstance(reason.operands, SkewTooHigh) and reason.operands.domains is not UNSET:
            yield from _table_section(reason.operands, reason.operands.domains)


def _table_section(skew: SkewTooHigh, counts: dict[str, int]) -> Document:
    key, fewest = skew.topology_key, min(counts.values(), default=0)
    rows = []
    for domain, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        notes = [*(("this node's",) if domain == skew.domain else ()), *(("fewest",) if count == fewest else ())]
        rows.append((domain, str(count), ", ".join(notes)))
    yield GAP
    text = f"Matching pods by {key}: with this pod the skew is {skew.skew}, maxSkew {skew.max_skew} is allowed"
    # With fewer domains than minDomains the global minimum counts as 0.
    if skew.minimum != fewest:
        text += f" (the minimum counts as {skew.minimum})"
    yield Paragraph(text, indent=2)
    yield table((key, "pods", ""), rows, numeric=(1,))


def domain_bars(constraints: Iterable[ConstraintData], nodes: Iterable[NodeData]) -> Iterator[Bars]:
    """Yield a chart per required constraint, and one per topology key of anti-affinity that rejects nodes."""
    for constraint in constraints:
        yield _affinity_bars(constraint) if constraint.max_skew is None else _spread_bars(constraint)
    in_the_way: dict[str, dict[str, list[PodsInTheWay]]] = {}
    for node in nodes:
        for reason in node.reasons:
            match reason.operands:
                case PodsInTheWay() as pods:
                    found = in_the_way.setdefault(pods.topology_key, {}).setdefault(pods.domain, [])
                    if pods not in found:
                        found.append(pods)
    for key, lists in in_the_way.items():
        yield _anti_affinity_bars(key, lists)


def _spread_bars(constraint: ConstraintData) -> Bars:
    """Return the matching pods by domain, and the skew with the pod in it."""
    fewest, most, own = constraint.minimum or 0, constraint.max_skew or 0, int(constraint.own)
    limit = fewest + most
    longest = max((*constraint.pods.values(), limit)) + own
    rows = []
    for domain, count in constraint.pods.items():
        skew = count + own - fewest
        pods = Segment(int(skew > most), count, counted(count, "pod"))
        segments = tuple(each for each in (pods, Segment(2, own, counted(own, "pod"))) if each.size)
        rows.append(Bar((domain, counted(count, "pod"), str(skew)), segments, longest, limit))
    notes = f"the line marks the fewest ({fewest}) plus maxSkew ({most})", _left(constraint.domains)
    return Bars(
        title=f"Matching pods by {constraint.topology_key}, maxSkew {most}",
        measure="pods",
        headings=(constraint.topology_key, "matching pods", "skew with the pod"),
        kinds=_SPREAD_KINDS,
        rows=tuple(rows),
        note="; ".join(filter(None, notes)),
        numbers=False,
    )


def _affinity_bars(constraint: ConstraintData) -> Bars:
    """Return the pods by domain that match the pod's required affinity."""
    longest = max(constraint.pods.values(), default=0)
    rows = (
        Bar((domain, counted(count, "pod")), (Segment(0, count, counted(count, "pod")),) if count else (), longest or 1)
        for domain, count in constraint.pods.items()
    )
    first = "no pod matches: the first pod that matches itself is accepted in any domain"
    notes = (first if constraint.own and not longest else "", _left(constraint.domains))
    return Bars(
        title=f"Pods that the required affinity selects, by {constraint.topology_key}",
        measure="pods",
        headings=(constraint.topology_key, "pods"),
        kinds=_REQUIRED,
        rows=tuple(rows),
        note="; ".join(filter(None, notes)),
        numbers=False,
    )


def _anti_affinity_bars(key: str, found: dict[str, list[PodsInTheWay]]) -> Bars:
    """Return the number of pods in the way by domain."""
    numbers = {domain: sum(each.pods for each in pods) for domain, pods in found.items()}
    rows = []
    for domain in sorted(found, key=lambda name: (-numbers[name], name))[:_MOST_DOMAINS]:
        segments = tuple(
            Segment(i, each.pods, counted(each.pods, "pod"))
            for i, kind in enumerate(_AFFINITY_KINDS)
            for each in found[domain]
            if isinstance(each, kind)
        )
        first = ", ".join(dict.fromkeys(each.pod for each in found[domain]))
        rows.append(Bar((domain, counted(numbers[domain], "pod"), first), segments, max(numbers.values())))
    notes = ("only domains that reject the pod", _left(len(found)))
    return Bars(
        title=f"Pods in the way by {key}",
        measure="pods",
        headings=(key, "pods", "the first of them"),
        kinds=tuple(_AFFINITY_KINDS.values()),
        rows=tuple(rows),
        note="; ".join(filter(None, notes)),
        numbers=False,
    )


def _left(number: int) -> str:
    """Return the number of domains without a bar, in words; empty for none."""
    return f"and {counted(number - _MOST_DOMAINS, 'more domain')}" if number > _MOST_DOMAINS else ""

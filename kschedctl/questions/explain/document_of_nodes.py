"""The charts of an explanation: maps and bars of nodes, domains of constraints, and the scores by plugin."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from msgspec import UNSET

from kschedctl.common.wording import counted
from kschedctl.questions.answer import readable
from kschedctl.questions.charts import Bar, Bars, Kind, Segment, kinds_of
from kschedctl.questions.document import GAP, INDENT, Document, Heading, Paragraph, Tone, Verbatim, table
from kschedctl.questions.explain.answer import (
    ClaimsData,
    ConstraintData,
    Explanation,
    FilterCheckData,
    NodeData,
    NodeStoryData,
    PluginStoryData,
    PreferenceData,
    ReasonData,
    ScoresData,
)
from kschedctl.questions.node_groups import wording
from kschedctl.questions.nodes.answer import NodeDescription, NodesOverview
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import ExistingAntiAffinity, OwnAntiAffinity, PodsInTheWay
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import SkewTooHigh

# The topology domains that constraints count: a table for a node, and bars for the whole cluster.

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
        numbers = {domain: sum(each.pods for each in pods) for domain, pods in lists.items()}
        rows = []
        for domain in sorted(lists, key=lambda name: (-numbers[name], name))[:_MOST_DOMAINS]:
            segments = tuple(
                Segment(i, each.pods, counted(each.pods, "pod"))
                for i, kind in enumerate(_AFFINITY_KINDS)
                for each in lists[domain]
                if isinstance(each, kind)
            )
            first = ", ".join(dict.fromkeys(each.pod for each in lists[domain]))
            rows.append(Bar((domain, counted(numbers[domain], "pod"), first), segments, max(numbers.values())))
        notes = ("only domains that reject the pod", _left(len(lists)))
        yield Bars(
            title=f"Pods in the way by {key}",
            measure="pods",
            headings=(key, "pods", "the first of them"),
            kinds=tuple(_AFFINITY_KINDS.values()),
            rows=tuple(rows),
            note="; ".join(filter(None, notes)),
            numbers=False,
        )


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


def _left(number: int) -> str:
    """Return the number of domains without a bar, in words; empty for none."""
    return f"and {counted(number - _MOST_DOMAINS, 'more domain')}" if number > _MOST_DOMAINS else ""


#: The number of nodes whose scores are drawn.
_MOST_NODES: Final = 20


def charts_section(
    explanation: Explanation,
    overview: NodesOverview | None,
    describe: Callable[[str], NodeDescription] | None,
    nodes: Iterable[str],
) -> Document:
    """Lay out the charts.

    Args:
        overview: The nodes of the cluster; ``None`` for no map.
        describe: Describes a node by its name; ``None`` for no bars of nodes.
    """
    # Only pages have charts.
    from kschedctl.questions.node_map import explained_map
    from kschedctl.questions.nodes.document import node_bars

    if overview is not None and explanation.nodes:
        yield from (GAP, explained_map(explanation, overview))
    for bars in domain_bars(explanation.constraints, explanation.nodes):
        yield from (GAP, bars)
    if describe is not None:
        for name in nodes:
            yield from (GAP, node_bars(describe(name), explanation.pod))
    if explanation.scores is not None and len(explanation.scores.nodes) > 1:
        yield from (GAP, score_bars(explanation.scores))


def score_bars(scores: ScoresData) -> Bars:
    """Return the total scores of the best nodes, divided by plugin."""
    kinds = kinds_of(plugin for plugin in scores.weights if any(n.plugins[plugin].weighted for n in scores.nodes))
    highest = max(node.total for node in scores.nodes)
    rows = []
    for node in scores.nodes[:_MOST_NODES]:
        weighted = ((i, node.plugins[kind.name].weighted) for i, kind in enumerate(kinds))
        segments = tuple(Segment(i, score, str(score)) for i, score in weighted if score)
        rows.append(Bar((node.name, str(node.total)), segments, highest))
    left = len(scores.nodes) - len(rows)
    return Bars(
        title="Scores by plugin",
        measure="points",
        headings=("node", "score"),
        kinds=kinds,
        rows=tuple(rows),
        note=f"the best {_MOST_NODES} of {len(scores.nodes)} nodes" if left else "",
        numbers=False,
    )


# The score tables: the scores that decide between the nodes that fit.

#: The number of nodes in the short and in the full table, unless all are requested.
_SHORT: Final = 5
_FULL: Final = 2


def scores_section(scores: ScoresData, best: Collection[str], *, every_node: bool) -> Document:
    """Lay out a row per node with the weighted scores; plugins with equal scores for all nodes are listed below.

    Args:
        best: The nodes with the highest score.
        every_node: True to show all nodes instead of the first 5.
    """
    alike = {}
    plugins = []
    for plugin in scores.weights:
        weighted = {node.plugins[plugin].weighted for node in scores.nodes}
        if len(weighted) == 1:
            alike[plugin] = weighted.pop()
        else:
            plugins.append(plugin)
    shown = scores.nodes if every_node else scores.nodes[:_SHORT]
    rows = [(node.name, str(node.total), *(str(node.plugins[plugin].weighted) for plugin in plugins)) for node in shown]
    headings = ["node", "score", *(_heading(plugin, scores.weights[plugin]) for plugin in plugins)]
    tones = [Tone.STRONG if node.name in best else Tone.PLAIN for node in shown]
    yield table(headings, rows, numeric=range(1, len(headings)), tones=tones, names_split=True, identifiers=(0,))
    if alike:
        # Plugins that score 0 for every node are not mentioned.
        same = ", ".join(f"{plugin} {score}" for plugin, score in alike.items() if score)
        if same:
            every = "every node" if len(scores.nodes) > 1 else "the node"
            yield Paragraph(f"{every} gets: {same}", Tone.FAINT, indent=INDENT)
    yield from _rest_section(scores, len(shown))


def _heading(plugin: str, weight: int) -> str:
    return plugin if weight == 1 else f"{plugin} x{weight}"


def scores_in_full(scores: ScoresData, *, every_node: bool = False, only: str = "") -> Document:
    """Lay out a row per node and plugin: raw score, normalised score, weight and weighted score.

    Args:
        every_node: True to show all nodes instead of the first 2.
        only: The only node to show; empty for no restriction.
    """
    shown = scores.nodes if every_node else scores.nodes[:_FULL]
    if only:
        shown = tuple(node for node in scores.nodes if node.name == only)
    rows = []
    tones = []
    for node in shown:
        for i, (plugin, score) in enumerate(node.plugins.items()):
            weight = f"x{scores.weights[plugin]}"
            numbers = (str(score.raw), str(score.normalized), weight, str(score.weighted))
            rows.append((node.name if i == 0 else "", plugin, *numbers))
            tones.append(Tone.PLAIN)
        rows.append(("", "total", "", "", "", str(node.total)))
        tones.append(Tone.STRONG)
    headings = ("node", "plugin", "raw", "normalised", "weight", "score")
    yield table(headings, rows, numeric=range(2, 6), tones=tones, identifiers=(0,))
    if not only:
        yield from _rest_section(scores, len(shown))
        if (lead := scores.lead) is not None:
            points = counted(lead.points, "point")
            apart = ", ".join(f"{plugin} {more:+}" for plugin, more in lead.plugins.items())
            text = f"{scores.nodes[0].name} is {points} ahead of {lead.over[0]}: {apart}"
            yield Paragraph(text, Tone.FAINT, indent=INDENT)


def _rest_section(scores: ScoresData, n_shown: int) -> Document:
    rest = scores.nodes[n_shown:]
    if not rest:
        return
    best = scores.nodes[0].total
    equal = sum(node.total == best for node in rest)
    said = [f"{counted(equal, 'more node')} with {best}"] if equal else []
    if equal < len(rest):
        low, high = rest[-1].total, rest[equal].total
        span = f"{high}" if low == high else f"{low} to {high}"
        number = len(rest) - equal
        said.append(f"{number} with {span}" if equal else f"{counted(number, 'more node')} with {span}")
    yield Paragraph(f"and {', '.join(said)}", Tone.FAINT, indent=INDENT)


# The sections with the full details of one node: resources, comparisons of filters, and the computation of scores.


def compared(said: Sequence[ReasonData], checks: Iterable[FilterCheckData]) -> list[str]:
    """Return the results of a filter for a node, one per line: its reasons, then its further comparisons.

    Args:
        said: The reasons of the filter; empty if the pod passes.
    """
    lines = wording(said).split("\n") if said else []
    to_skip = len(said)
    for check in checks:
        # A failed comparison is already part of the reason.
        if not check.holds and to_skip:
            to_skip -= 1
            continue
        lines.append(f"{'' if check.holds else 'also fails: '}{check.wanted}: {check.found}")
    return lines or [""]


def room_section(story: NodeStoryData) -> Document:
    """Lay out the resources of the node, and the pods that request most of them."""
    rows = [
        (one.resource, *(readable(one.resource, n) for n in (one.allocatable, one.requested, one.wanted, one.left)))
        for one in story.room
    ]
    yield from (GAP, table(("resource", "allocatable", "requested", "this pod", "left"), rows, numeric=range(1, 5)))
    if not story.pods:
        return
    names = list(story.pods[0].requests)
    yield GAP
    headings = ("largest requests", "priority", *names)
    yield table(
        headings,
        [
            (pod.pod, str(pod.priority), *(readable(name, amount) for name, amount in pod.requests.items()))
            for pod in story.pods
        ],
        numeric=range(1, len(headings)),
        identifiers=(0,),
    )
    if story.more_pods:
        yield Paragraph(f"and {counted(story.more_pods, 'more pod')}", Tone.FAINT, INDENT)


def arithmetic_section(stories: Sequence[PluginStoryData]) -> Document:
    """Lay out the computation of the score: the formula and steps of each plugin, then the sum."""
    yield from (GAP, Paragraph("Computation of the score", Tone.STRONG, INDENT))
    for story in stories:
        rules = [story.score.formula] if story.score is not None else []
        if story.normalizing is not None:
            rules.append(f"normalised: {story.normalizing.formula}")
        yield Paragraph(": ".join((story.plugin, *("; ".join(rules),) * bool(rules))), indent=INDENT)
        if story.score is None:
            yield _line("score", str(story.raw), str(story.raw), "as the plugin returned it")
        for arithmetic in (story.score, story.normalizing):
            for step in arithmetic.steps if arithmetic is not None else ():
                yield _line(
                    step.name,
                    step.expression,
                    str(step.value) if isinstance(step.value, int) else f"{step.value:.4f}".rstrip("0").rstrip("."),
                    step.note,
                )
        yield _line("weighted", f"{story.normalized} * {story.weight}", str(story.weighted))
    total = sum(story.weighted for story in stories)
    sums = " + ".join(str(story.weighted) for story in stories)
    yield Paragraph(f"total = {sums} = {total}", Tone.STRONG, INDENT)
    text = "// divides integers and rounds toward zero; round rounds halves away from zero; log is natural"
    yield Paragraph(text, Tone.FAINT, INDENT)


def _line(name: str, expression: str, value: str, note: str = "") -> Paragraph:
    """Return a step as one line."""
    equals = f"{name} = {expression}" if expression == value else f"{name} = {expression} = {value}"
    return Paragraph(f"{equals} ({note})" if note else equals, indent=2 * INDENT)


# The section of ``--prefer``: a node's score compared with the best, and changes that would move the pod there.


def preference_section(found: PreferenceData, why_not: str) -> Document:
    """Lay out the score of a node compared with the best one, and the changes that would move the pod to it.

    Args:
        why_not: The reason why the pod does not fit on the node; empty if it fits.
    """
    node = found.node
    yield GAP
    if not found.fits:
        yield Paragraph(f"No preference moves the pod to {node}: it does not fit there.", Tone.STRONG)
        for line in why_not.split("\n"):
            yield Paragraph(line, indent=INDENT)
        return
    if not found.other:
        said = (
            "the pod is scheduled there, and no other node was scored" if found.is_best else "no scores were compared"
        )
        yield Paragraph(f"{node}: {said}.", Tone.STRONG)
        return
    points = found.here - found.there
    ahead = f"{abs(points)} {'point' if abs(points) == 1 else 'points'}"
    if points > 0:
        yield Paragraph(f"{node} is the best node, {ahead} ahead of {found.other}.", Tone.STRONG)
    elif found.is_best:
        yield Paragraph(f"{node} is as good as {found.other}: kube-scheduler picks one at random.", Tone.STRONG)
    else:
        yield Paragraph(f"{node} is {ahead} behind {found.other}.", Tone.STRONG)
    differing = [one for one in found.points if one.here != one.there]
    rows = [(one.plugin, str(one.here), str(one.there), f"{one.here - one.there:+}") for one in differing]
    rows.append(("total", str(found.here), str(found.there), f"{points:+}" if points else "0"))
    tones = [*(Tone.PLAIN for _ in differing), Tone.STRONG]
    yield table(("plugin", node, found.other, "difference"), rows, numeric=(1, 2, 3), tones=tones)
    if points > 0:
        return
    yield GAP
    goal = f"make {node} the only best node" if found.is_best else f"move the pod to {node}"
    if not found.changes:
        yield Paragraph(f"No single change that was tried would {goal}.", Tone.STRONG)
        return
    yield Paragraph(f"Changes that would {goal} (each tried alone)", Tone.STRONG)
    told = [(change.summary, f"{change.score}, next best {change.next_best}") for change in found.changes]
    yield table(("change", "then its score"), told)


# The sections about a pod's ResourceClaims: their allocations by node, and the reasons if there are none.

_HEADING: Final = "ResourceClaims"


def claims_section(claims: ClaimsData, *, every_node: bool) -> Document:
    """Lay out the nodes on which the claims can be used, in groups."""
    if claims.places:
        # Most pods have no ResourceClaims.
        from kschedctl.questions.devices.document import places_section

        yield Heading(_HEADING)
        yield from places_section(claims.places, every=every_node, names_claims=True)


def node_claims_section(claims: ClaimsData, node: NodeData) -> Document:
    """Lay out the allocations of the claims on one node, or the selectors that reject its devices."""
    from kschedctl.questions.devices.document import allocation_lines
    from kschedctl.scheduler.devices.explain import NotAllocated

    allocations = claims.allocations.get(node.name, ())
    lines = [line for allocation in allocations for line in allocation_lines(allocation, names_claim=True)]
    found = (reason.operands for reason in node.reasons)
    selectors = [text for one in found if isinstance(one, NotAllocated) for text in one.selectors()]
    if lines or selectors:
        yield from (GAP, Paragraph(_HEADING, Tone.STRONG, INDENT))
    for line in lines:
        yield Verbatim(line)
    for text in selectors:
        yield Paragraph(text, indent=INDENT)

"""The document of ``volumes``: the answer, the action of the controller, and the outcome for the claims by node."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answer import merged_envelope
from kschedctl.questions.charts import Bar, Bars, Colouring, Kind, Segment
from kschedctl.questions.document import (
    GAP,
    Document,
    Heading,
    Lines,
    Paragraph,
    Phrases,
    Question,
    Tone,
    Verbatim,
    table,
)
from kschedctl.questions.frame import (
    View,
    cautions,
    checks_section,
    diagnosis_section,
    first_line,
    header,
    next_questions,
    one_by_one,
)
from kschedctl.questions.node_map import NodeResult, results_map
from kschedctl.questions.volumes.answer import (
    ClaimData,
    ClaimVerdict,
    ClaimVolumes,
    MismatchData,
    NodeVolumesData,
    NotTakenData,
    OnNodeData,
    PodVolumes,
    VolumesList,
)
from kschedctl.trials.claim_action import ClaimAction

#: The number of volumes that are named per row.
_NAMED: Final = 3
#: The number of cures that are printed.
_MOST_CURES: Final = 3

_ANOTHER: Final = "matches, but another volume is chosen first"
_LATER: Final = "matches: the scheduler can bind it when a pod uses the claim"
_WAITING: Final = (ClaimAction.WAIT_FOR_FIRST_CONSUMER, ClaimAction.WAIT_FOR_POD)
_WORDS: Final = {
    ClaimVerdict.BOUND: "reaches {volume}",
    ClaimVerdict.UNREACHABLE: "cannot reach {volume}",
    ClaimVerdict.OTHER_ZONE: "cannot use {volume}, whose labels name another zone",
    ClaimVerdict.MISSING: "has no volume {volume}",
    ClaimVerdict.TAKES: "binds {volume}",
    ClaimVerdict.PROVISIONED: "gets a volume provisioned here",
    ClaimVerdict.ELSEWHERE: "gets its volume provisioned elsewhere",
    ClaimVerdict.NONE: "finds no volume",
    ClaimVerdict.NO_SPACE: "finds too little storage capacity",
    ClaimVerdict.IMMEDIATE: "is not bound by the scheduler",
}

_USABLE: Final = "usable"
#: The outcomes for claims that are not usable on a node, in short.
_OUTCOMES: Final = {
    ClaimVerdict.UNREACHABLE: "volume cannot be reached",
    ClaimVerdict.OTHER_ZONE: "volume is in another zone",
    ClaimVerdict.MISSING: "volume is missing",
    ClaimVerdict.ELSEWHERE: "volume is provisioned elsewhere",
    ClaimVerdict.NONE: "no volume",
    ClaimVerdict.NO_SPACE: "too little storage capacity",
    ClaimVerdict.IMMEDIATE: "not bound by the scheduler",
}
_CLAIM_KINDS: Final = (
    Kind("bound", Tone.GOOD),
    Kind("to be bound", Tone.MIXED),
    Kind("without a usable volume", Tone.BAD),
)
#: The most storage classes with a bar.
_MOST_CLASSES: Final = 50

_STATES: Final = {
    ClaimAction.KEEP: "{volume}",
    ClaimAction.BIND: "{volume}, to be bound",
    ClaimAction.PROVISION: "{provisioner} provisions it",
    ClaimAction.WAIT_FOR_FIRST_CONSUMER: "waits for a pod",
    ClaimAction.WAIT_FOR_POD: "waits for its pods",
    ClaimAction.WAIT_FOR_VOLUME: "{volume} (missing)",
    ClaimAction.FAILED_BINDING: "none",
    ClaimAction.VOLUME_MISMATCH: "not {volume}",
    ClaimAction.PROVISIONING_FAILED: "none",
    ClaimAction.LOST: "lost",
    ClaimAction.UNKNOWN: "not known",
}


def claim_document(answer: ClaimVolumes, view: View) -> Document:
    """Lay out the answer for one claim."""
    claim = answer.claim
    yield from first_line(answer, claim.summary, Tone.GOOD if claim.usable else Tone.BAD, (f"Claim {claim.name}",))
    modes = f", {', '.join(claim.access_modes)}" if claim.access_modes else ""
    mode = f" ({claim.binding_mode})" if claim.binding_mode else " (which does not exist)"
    given = ", the default" if claim.controller.default_class else ""
    facts = (
        f"wants {claim.size or 'any size'}{modes}",
        f"class {claim.storage_class}{mode}{given}" if claim.storage_class else "no class",
        f"used by {listed(claim.pods, most=_NAMED)}" if claim.pods else "used by no pod",
    )
    yield Phrases(facts)
    yield from header(answer, view.now)
    yield from diagnosis_section(answer.diagnoses, first_is_told=False)
    for cure in answer.cures[:_MOST_CURES]:
        yield Paragraph(f"To fix: {cure}")
    yield from _trap_section((claim,))
    yield from _controller_section(claim, every=view.wide)
    yield from _nodes_section(answer.nodes or (), view)
    yield from checks_section(answer.diagnoses)
    yield from cautions(answer)
    if not view.wide:
        yield from next_questions([Question("All nodes and volumes", "volumes", claim.name, {"output": "wide"})])


def pod_document(answer: PodVolumes, view: View) -> Document:
    """Lay out the answer for one pod."""
    yield from first_line(
        answer, answer.summary, Tone.GOOD if answer.usable else Tone.BAD, (f"Volumes of {answer.pod}",)
    )
    yield from header(answer, view.now)
    if answer.claims:
        yield GAP
        yield from _table_section(answer.claims, with_pods=False)
    yield from _trap_section(answer.claims)
    if answer.claims and not answer.problem:
        yield from _nodes_section(answer.nodes, view)
    if view.wide:
        for claim in answer.claims:
            yield Heading(claim.name)
            yield from _controller_section(claim, every=True)
    yield from cautions(answer)
    questions = [Question("Scheduling decision", "explain", answer.pod)]
    if answer.claims and not view.wide:
        questions.insert(0, Question("All nodes and volumes", "volumes", answer.pod, {"output": "wide"}))
    yield from next_questions(questions)


def document(answer: ClaimVolumes | PodVolumes, view: View) -> Document:
    """Lay out the answer for one claim or pod."""
    if isinstance(answer, PodVolumes):
        yield from pod_document(answer, view)
    else:
        yield from claim_document(answer, view)


def list_document(found: VolumesList, view: View) -> Document:
    """Lay out several claims, one row each; named claims and pods in full."""
    if view.named:
        yield from one_by_one(found.items, view, document)
        return
    answers = [answer for answer in found.items if isinstance(answer, ClaimVolumes)]
    claims = [answer.claim for answer in answers]
    stuck, trapped = any(not claim.usable for claim in claims), any(claim.trap is not None for claim in claims)
    basis = merged_envelope(answers)
    tone = Tone.BAD if stuck else Tone.MIXED if trapped else Tone.GOOD
    yield from first_line(basis, found.summary, tone, ("Volume claims",))
    yield from header(basis, view.now)
    yield GAP
    if view.drawn:
        by_class: dict[str, list[ClaimData]] = {}
        for claim in claims:
            by_class.setdefault(claim.storage_class or "no class", []).append(claim)
        longest = max(map(len, by_class.values()))
        rows = []
        for name, members in sorted(by_class.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST_CLASSES]:
            counts = Counter(
                2 if not claim.usable else int(claim.controller.action is not ClaimAction.KEEP) for claim in members
            )
            segments = tuple(Segment(kind, n, counted(n, "claim")) for kind, n in sorted(counts.items()))
            rows.append(Bar((name, counted(len(members), "claim")), segments, longest))
        left = len(by_class) - len(rows)
        yield Bars(
            title="Claims by storage class",
            measure="claims",
            headings=("class", "claims"),
            kinds=_CLAIM_KINDS,
            rows=tuple(rows),
            note=f"and {left} more classes" if left else "",
        )
        yield GAP
    yield from _table_section(claims, with_pods=True)
    yield from _trap_section(claims)
    yield from cautions(basis)
    yield from next_questions([Question("One claim in detail", "volumes", claims[0].name)])


def _table_section(claims: Sequence[ClaimData], *, with_pods: bool) -> Document:
    rows = []
    for claim in claims:
        without_node = not claim.usable and claim.controller.action in (ClaimAction.KEEP, ClaimAction.BIND)
        zones = listed(claim.zones, "or") or ("no node left" if without_node else "-")
        pods = (listed(claim.pods, most=_NAMED) or "-",) if with_pods else ()
        controller = claim.controller
        state = _STATES[controller.action].format(volume=controller.volume, provisioner=controller.provisioner)
        rows.append((claim.name, claim.size or "-", claim.storage_class or "-", state, zones, *pods))
    headings = ("claim", "size", "class", "volume", "only in zone", *(("pods",) if with_pods else ()))
    yield table(headings, rows, numeric=(1,), identifiers=(0, 3, 5))


def _trap_section(claims: Sequence[ClaimData]) -> Document:
    # Claims with the same storage class and zones share one paragraph.
    traps = {(c.trap.storage_class, c.trap.zones): c.trap for c in reversed(claims) if c.trap is not None}
    shown = list(traps.values())[::-1]
    for trap in shown:
        yield from (GAP, Paragraph(f"{trap.explanation} {trap.advice if trap is shown[-1] else ''}", Tone.CAUTION))


def _controller_section(claim: ClaimData, *, every: bool) -> Document:
    controller = claim.controller
    yield from (GAP, Paragraph(f"The PersistentVolume controller {controller.summary}."))
    if controller.message:
        yield Paragraph("Event message:", indent=2)
        yield Verbatim(controller.message, indent=4)
    if controller.not_taken:
        would_do = _LATER if controller.action in _WAITING else _ANOTHER
        rows: Iterable[tuple[str, Lines]] = _volumes_in_groups(controller.not_taken, would_do)
        if every:
            rows = ((one.volume, tuple(map(_mismatch, one.mismatches)) or (would_do,)) for one in controller.not_taken)
        yield from (GAP, table(("volumes", "reason"), rows))


def _volumes_in_groups(volumes: Iterable[NotTakenData], would_do: str) -> Iterator[tuple[str, Lines]]:
    """Yield one row per set of differing fields with its volumes, fewest differences first."""
    groups: dict[tuple[str, ...], list[NotTakenData]] = {}
    for volume in volumes:
        groups.setdefault(tuple(m.field for m in volume.mismatches), []).append(volume)
    for fields, members in sorted(groups.items(), key=lambda item: len(item[0])):
        names = listed([member.volume for member in members], most=_NAMED)
        columns = zip(*(member.mismatches for member in members), strict=True)
        merged = (
            MismatchData(
                column[0].field,
                column[0].wanted,
                listed(list(dict.fromkeys(m.found for m in column)), "or", most=_NAMED),
            )
            for column in columns
        )
        why = tuple(map(_mismatch, merged)) if fields else (would_do,)
        yield names, why


def _mismatch(mismatch: MismatchData) -> str:
    if mismatch.field == "claimRef":
        return f"is reserved for claim {mismatch.found}"
    return f"{mismatch.field}: wants {mismatch.wanted}, has {mismatch.found}"


def _nodes_section(nodes: Sequence[NodeVolumesData], view: View) -> Document:
    if not nodes:
        return
    yield GAP
    if view.drawn and view.overview is not None:
        results = {
            node.name: NodeResult(
                (
                    _USABLE
                    if node.usable
                    else next(_OUTCOMES[c.verdict] for c in node.claims if c.verdict in _OUTCOMES),
                ),
                _on_node(node),
            )
            for node in nodes
        }
        kinds = (Kind(_USABLE, Tone.GOOD), *(Kind(name) for name in dict.fromkeys(_OUTCOMES.values())))
        yield results_map(view.overview.nodes, results, (Colouring("usable by a pod", kinds),))
        yield GAP
    # In formats that draw, the map has the outcome for each node.
    if view.wide and not view.drawn:
        rows = [(n.name, n.zone or "-", "yes" if n.usable else "no", _on_node(n)) for n in nodes]
        yield table(("node", "zone", "usable", "outcome for a pod"), rows, identifiers=(0,))
        return
    groups: dict[tuple[bool, Lines], list[NodeVolumesData]] = {}
    for node in nodes:
        groups.setdefault((node.usable, _on_node(node)), []).append(node)
    ordered = sorted(groups.items(), key=lambda item: (not item[0][0], -len(item[1])))
    rows = [
        (
            str(len(members)),
            listed(sorted({node.zone for node in members if node.zone}), most=_NAMED) or "-",
            "yes" if usable else "no",
            text,
        )
        for (usable, text), members in ordered
    ]
    yield table(("nodes", "zones", "usable", "outcome for a pod"), rows, numeric=(0,))


def _on_node(node: NodeVolumesData) -> Lines:
    several = len(node.claims) > 1
    return tuple(_worded(claim, several=several) for claim in node.claims)


def _worded(claim: OnNodeData, *, several: bool) -> str:
    text = claim.detail or _WORDS[claim.verdict].format(volume=claim.volume)
    name = claim.claim.rpartition("/")[2]
    # A detail names its claim.
    return f"{name}: {text}" if several and f"claim {name}" not in text else text

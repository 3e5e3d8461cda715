"""The section of ``--prefer``: a node's score compared with the best, and changes that would move the pod there."""

from __future__ import annotations

from kschedctl.questions.answers.explain import PreferenceData
from kschedctl.questions.presentation.document import GAP, INDENT, Document, Paragraph, table
from kschedctl.questions.presentation.tone import Tone


def preference_section(found: PreferenceData, why_not: str) -> Document:
    """Lay out the score of a node compared with the best one, and the changes that would move the pod to it.

    Parameters
    ----------
    why_not : str
        The reason why the pod does not fit on the node; empty if it fits.
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

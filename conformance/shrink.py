"""Shrinking: reduction of a case that two sides answer differently to the fewest objects and fields that still differ.

``kschedctl.questions.verify.recording`` removes parts, after whole stages of a sequence were removed; the answers
of the two sides decide whether the rest still differs.
"""

from conformance.asking import Side
from conformance.differing import Difference, difference, is_settled, to_follow
from conformance.jsonlines import Object, line
from kschedctl.questions.verify.recording import fewest, smallest_case


def shrink(found: Difference, judge: Side, ours: Side) -> Difference:
    """Return the smallest case in which the two sides differ in the same way.

    A smaller case is accepted under four conditions:

    - The first differing part of the answer (an error before all others) still differs.
    - Neither side fails with an error that it did not have, as an invalid case shows nothing.
    - The reference scheduler repeats its answer, as a random difference shows nothing either.
    - Whether a feature is reported as not modelled stays the same.
    """
    judged = judge(found.case)
    said = ours(to_follow(found.case, judged))
    part = "error" if "error" in found.parts else next(iter(found.parts))
    allowed = [bool(judged.get("error")), bool(said.get("error"))]
    smallest = found
    tried: dict[str, bool] = {}

    def differs(case: Object) -> bool:
        nonlocal smallest
        key = line(case)
        if key not in tried:
            tried[key] = False
            expected = judge(case)
            followed = to_follow(case, expected)
            answers = expected, ours(followed)
            given_up = [bool(answer.get("error") or "unknown" in answer) for answer in answers]
            if all(allow or not gave_up for allow, gave_up in zip(allowed, given_up, strict=True)):
                less = difference(followed, *answers)
                alike = less is not None and part in less.parts and bool(less.not_modelled) == bool(found.not_modelled)
                if less is not None and alike and is_settled(case, *answers, judge, 1):
                    tried[key], smallest = True, less
        return tried[key]

    case = found.case
    if "then" in case:
        case = {**case, "then": fewest(case["then"], lambda stages: differs({**case, "then": stages}))}
    smallest_case(case, differs)
    return smallest

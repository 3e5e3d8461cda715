"""Shrinking: a case that two sides answer differently, cut down to the fewest objects and fields that still differ.

``kschedctl.analyses.verify.shrinking`` cuts; the two sides themselves decide whether the rest is still a case.
"""

from __future__ import annotations

from conformance.asking import Side
from conformance.differing import Difference, difference, is_settled, to_follow
from conformance.jsonlines import Object, line
from kschedctl.analyses.verify.shrinking import smallest_case


def shrink(found: Difference, judge: Side, ours: Side) -> Difference:
    """The smallest case in which the two sides still differ as they do in this one.

    A smaller case counts when that part of the answer still differs which comes first in a cycle (an error before
    all), neither side gives up with an error that it did not have (a case that is no longer valid shows nothing), the
    judge says so again (what hangs on chance shows nothing either), and nothing comes in that is not modelled.
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

    smallest_case(found.case, differs)
    return smallest

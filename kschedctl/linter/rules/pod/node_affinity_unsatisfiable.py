"""Node selector and required node affinity together match no node, whatever the nodes are.

A pod's required node affinity needs one of its terms to hold, together with the whole node selector. A term never holds
where it is empty (``{}`` matches nothing), compares with text (``Gt`` and ``Lt`` take whole numbers), or demands what
excludes itself: two lists without a common value, all values of a list excluded, a label that must be there and must
not, a range without a number in it.

The API server takes all of these, and the pods wait for ever.

Repair: change or remove the demand that is named.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.node_terms import clashes
from kschedctl.linter.pods import REQUIRED, Pods
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
nodeSelector:
  disk: ssd
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: disk  # <-
          operator: In
          values: [hdd, nvme]
"""
PASSES = FAILS.replace("[hdd, nvme]", "[ssd, nvme]")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    dead, n_terms = clashes(pods)
    if not dead or len(dead) < n_terms:
        return
    if n_terms == 1:
        yield Problem(
            message=f"no node can match: {dead[0].why}",
            steps=dead[0].steps,
            help="change the term so that it can hold, or remove it",
        )
        return
    why = "; ".join(each.why for each in dead)
    yield Problem(
        message=f"no node can match any of the {n_terms} terms: {why}",
        steps=pods.of_spec("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"),
        help="one term must be able to hold, together with the node selector",
    )

"""Node selector and required node affinity together can match no node, whatever labels the nodes have.

A pod's required node affinity needs one matching term, and the whole node selector must match as well. A term never
matches if it is empty (``{}`` matches nothing), if ``Gt`` or ``Lt`` compares with text instead of a whole number, or if
its requirements exclude one another: two lists without a common value, all values of a list excluded, a label that must
both exist and not exist, a range without a whole number in it.

The API server accepts all of these, and the pods stay pending for ever.

Repair: change or remove the requirement that the message names.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.node_terms import clashes
from kschedctl.linter.pods import REQUIRED, WorkloadPods
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


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    dead, n_terms = clashes(pods)
    if not dead or len(dead) < n_terms:
        return
    if n_terms == 1:
        yield Problem(
            message=f"no node can match: {dead[0].why}",
            steps=dead[0].steps,
            help="change the term so that it can match, or remove it",
        )
        return
    why = "; ".join(each.why for each in dead)
    yield Problem(
        message=f"no node can match any of the {n_terms} terms: {why}",
        steps=pods.of_spec("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"),
        help="one term must be able to match together with the node selector",
    )

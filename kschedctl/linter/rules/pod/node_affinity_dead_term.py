"""A term of the required node affinity can match no node, while other terms can, so the term has no effect.

Terms are ORed, so one that matches is enough; a term that never matches (KS101 has the reasons) goes unnoticed until
the others fail. The rule also reports an empty ``preference`` of the preferred terms: it matches every node or no node,
depending on the reader, and so changes no decision.

The API server accepts the object; the pods are scheduled to the nodes that the other terms match.

Repair: change the term or remove it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.node_terms import clashes, preferred_terms
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: disk
          operator: Exists
      - matchExpressions:
        - key: cores
          operator: Gt
          values: ["8"]
        - key: cores  # <-
          operator: Lt
          values: ["9"]
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 10
      preference: {}  # <-
"""
PASSES = FAILS.partition("        - key: cores  # <-")[0]


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    dead, n_terms = clashes(pods)
    if len(dead) < n_terms:
        for each in dead:
            yield Problem(
                message=f"this term matches no node: {each.why}",
                steps=each.steps,
                help="change the term so that it can match, or remove it",
            )
    for steps, term in preferred_terms(pods):
        if isinstance(term, dict) and not term.get("matchExpressions") and not term.get("matchFields"):
            yield Problem(
                message="an empty preference prefers no node", steps=steps, help="add expressions, or remove it"
            )

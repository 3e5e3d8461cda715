"""A term of the node affinity can hold for no node; others can, so it only says nothing.

Of ORed terms one is enough, so a term that never holds (see KS101 for what does not) is not seen until the others fail.
An empty ``preference`` of the preferred terms matches every node or none, depending on who reads it, and moves no pod.

The API server takes it; pods go where the other terms let them.

Repair: change the term or remove it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.node_terms import clashes, preferred_terms
from kschedctl.linter.pods import Pods
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


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    dead, n_terms = clashes(pods)
    if len(dead) < n_terms:
        for each in dead:
            yield Problem(
                message=f"this term matches no node: {each.why}",
                steps=each.steps,
                help="change the term so that it can hold, or remove it",
            )
    for steps, term in preferred_terms(pods):
        if isinstance(term, dict) and not term.get("matchExpressions") and not term.get("matchFields"):
            yield Problem(message="an empty preference prefers no node", steps=steps, help="say which, or remove it")

"""A persistent volume is a directory on a node (hostPath), and has no node affinity for that node.

A pod that uses the volume can be scheduled to any node and gets the directory of that node: usually an empty one, after
the pod moved. In clusters with one node that is intended.

The API server accepts the object; pods run, on the wrong node.

Repair: nodeAffinity with the node's name, or a local volume, which must have it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import mapping

FAILS = """v1 PersistentVolume data
hostPath:  # <-
  path: /data
"""
PASSES = f"""{FAILS}nodeAffinity:
  required:
    nodeSelectorTerms:
    - matchExpressions:
      - key: kubernetes.io/hostname
        operator: In
        values: [node-1]
"""


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    spec = mapping(obj.raw.get("spec"))
    if isinstance(spec.get("hostPath"), dict) and not spec.get("nodeAffinity"):
        yield Problem(
            message="the directory is on one node, and pods that use it can be scheduled to any node",
            steps=("spec", "hostPath"),
            help="add nodeAffinity with the node's name, or use a local volume",
        )

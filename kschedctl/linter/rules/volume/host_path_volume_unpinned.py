"""A persistent volume is a folder of a node, and does not say of which.

A pod that uses it goes to any node and finds there whatever that node has at the path: an empty folder, mostly, after
it moved. In clusters of one node that is meant so.

The API server takes it; pods run, on the wrong node.

Repair: nodeAffinity with the node's name, or a local volume, which must have it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.manifest_set import ManifestObject
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


def check(obj: ManifestObject, context: Context) -> Iterator[Problem]:
    spec = mapping(obj.raw.get("spec"))
    if isinstance(spec.get("hostPath"), dict) and not spec.get("nodeAffinity"):
        yield Problem(
            message="the folder is on one node, and nothing ties the pods that use it to that node",
            steps=("spec", "hostPath"),
            help="add nodeAffinity with the node's name, or use a local volume",
        )

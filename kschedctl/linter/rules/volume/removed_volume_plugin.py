"""A volume uses a volume plugin that Kubernetes has removed or disabled.

The code of glusterfs, cephfs, rbd, quobyte, storageos, flocker, scaleIO and photonPersistentDisk is removed, and
gitRepo is disabled; their fields still exist and do nothing.

The API server accepts the object, with a warning that is easily missed, and the pods never start: no kubelet mounts the
volume.

Repair: the CSI driver that replaces it; for gitRepo an init container that clones into an emptyDir.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import numbered

FAILS = """v1 Pod web
volumes:
- name: code
  gitRepo:  # <-
    repository: https://example.com/code.git
"""
PASSES = FAILS.replace("gitRepo:", "emptyDir: {}").replace("    repository: https://example.com/code.git\n", "")

#: The first release without the plugin, by field.
_GONE: Final = {
    "glusterfs": "1.26",
    "cephfs": "1.31",
    "rbd": "1.31",
    "quobyte": "1.25",
    "storageos": "1.25",
    "flocker": "1.25",
    "scaleIO": "1.22",
    "photonPersistentDisk": "1.22",
    "gitRepo": "1.33",
}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    for steps, volume in numbered(pods.spec.get("volumes"), pods.of_spec("volumes")):
        for name, release in _GONE.items():
            if isinstance(volume, dict) and isinstance(volume.get(name), dict):
                yield Problem(
                    message=f"volumes of {name} have not worked since Kubernetes {release}",
                    steps=(*steps, name),
                    help="use a CSI driver" if name != "gitRepo" else "clone into an emptyDir in an init container",
                    key=True,
                )

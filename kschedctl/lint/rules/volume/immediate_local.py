"""A storage class of volumes that lie on one node binds claims before anybody knows to which node the pod goes.

With volumeBindingMode Immediate, which is the default, a claim takes a volume of any node, and the pod must go there,
whether it has room or not.

The API server takes it, and pods wait ("had volume node affinity conflict").

Repair: volumeBindingMode: WaitForFirstConsumer. A class cannot be changed: it must be made anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.lint.context import Context
from kschedctl.lint.fix import setting
from kschedctl.lint.given import GivenObject
from kschedctl.lint.rule import Problem
from kschedctl.lint.values import is_rendered, text

FAILS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: local
provisioner: kubernetes.io/no-provisioner  # <-
"""
PASSES = FAILS.replace("no-provisioner", "no-provisioner\nvolumeBindingMode: WaitForFirstConsumer")

_LOCAL: Final = frozenset(
    (
        *("kubernetes.io/no-provisioner", "rancher.io/local-path", "topolvm.io", "topolvm.cybozu.com"),
        *("openebs.io/local", "local.csi.openebs.io", "zfs.csi.openebs.io"),
    )
)


def check(obj: GivenObject, context: Context) -> Iterator[Problem]:
    """Classes of node-local volumes that do not wait for their first consumer."""
    provisioner, mode = text(obj.raw.get("provisioner")), obj.raw.get("volumeBindingMode")
    if provisioner not in _LOCAL or mode not in (None, "", "Immediate") or not is_rendered(mode):
        return
    stated = "Immediate" if mode else "not set, which is Immediate"
    yield Problem(
        message=f"volumeBindingMode is {stated}: a claim takes a volume of some node before the pod's is known",
        steps=("volumeBindingMode",) if mode else ("provisioner",),
        help="set volumeBindingMode: WaitForFirstConsumer",
        fix=setting(
            obj,
            "set volumeBindingMode: WaitForFirstConsumer",
            (("volumeBindingMode",), "WaitForFirstConsumer"),
            safe=False,
        ),
    )

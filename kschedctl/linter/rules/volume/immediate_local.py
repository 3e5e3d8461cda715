"""A storage class for volumes on one node binds claims before the pod's node is known.

With volumeBindingMode Immediate, which is the default, a claim gets a volume on any node, and the pod must be scheduled
to that node, whether it has free capacity or not.

The API server accepts the object, and pods stay pending ("had volume node affinity conflict").

Repair: volumeBindingMode: WaitForFirstConsumer. A class cannot be changed: it must be recreated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import text

FAILS = """storage.k8s.io/v1 StorageClass local
provisioner: kubernetes.io/no-provisioner  # <-
"""
PASSES = FAILS.replace("no-provisioner", "no-provisioner\nvolumeBindingMode: WaitForFirstConsumer")

_LOCAL: Final = frozenset(
    (
        *("kubernetes.io/no-provisioner", "rancher.io/local-path", "topolvm.io", "topolvm.cybozu.com"),
        *("openebs.io/local", "local.csi.openebs.io", "zfs.csi.openebs.io"),
    )
)


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    yield from binding_at_once(obj, _LOCAL, "a claim is bound to a volume of some node before the pod's node is known")


def binding_at_once(obj: LintObject, provisioners: frozenset[str], consequence: str) -> Iterator[Problem]:
    """Yield the problem of a storage class of some provisioners that does not wait for the first consumer."""
    mode = obj.raw.get("volumeBindingMode")
    if text(obj.raw.get("provisioner")) not in provisioners or mode not in (None, "", "Immediate"):
        return
    title, field = "set volumeBindingMode: WaitForFirstConsumer", ("volumeBindingMode",)
    yield Problem(
        message=f"volumeBindingMode is {'Immediate' if mode else 'not set, which means Immediate'}: {consequence}",
        steps=field if mode else ("provisioner",),
        help=title,
        fix=setting(obj, title, (field, "WaitForFirstConsumer"), safe=False),
    )

"""A scheduler configuration has an API version that kube-scheduler does not support.

v1beta1 is removed since Kubernetes 1.23, v1beta2 since 1.28, v1beta3 since 1.29.

kube-scheduler exits when it starts, and every pod of its profiles stays pending.

Repair: kubescheduler.config.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem

FAILS = """kubescheduler.config.k8s.io/v1beta3 KubeSchedulerConfiguration  # <-
"""
PASSES = FAILS.replace("v1beta3", "v1")

_SINCE: Final = {"v1alpha1": 22, "v1alpha2": 22, "v1beta1": 23, "v1beta2": 28, "v1beta3": 29}


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    since = _SINCE.get(obj.api_version.rpartition("/")[2])
    if since is not None and int(context.release.version.partition(".")[2]) >= since:
        yield Problem(
            message=f"kube-scheduler does not support {obj.api_version} as of Kubernetes 1.{since}, and exits",
            steps=("apiVersion",),
            help="use kubescheduler.config.k8s.io/v1, and check for renamed fields",
        )

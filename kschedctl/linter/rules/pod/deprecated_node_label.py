"""The pods refer to a deprecated node label, such as beta.kubernetes.io/os.

The API server's list of deprecated labels has ``beta.kubernetes.io/arch``, ``/os``, ``/instance-type`` and
``failure-domain.beta.kubernetes.io/zone``, ``/region``. Kubelets and cloud providers still set them, so nothing breaks
yet; nodes of providers that do not, such as k3s, lack some of them.

The API server accepts the object, with a warning that is easily missed, and the pods run.

Repair: write the label that replaces it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.diagnosis.rules.labels import PRESENT_LABELS
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import renaming, setting
from kschedctl.linter.node_terms import label_uses
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
nodeSelector:
  beta.kubernetes.io/os: linux  # <-
"""
PASSES = FAILS.replace("beta.", "")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    for steps, label, is_key in label_uses(pods):
        today = PRESENT_LABELS.get(label)
        if today is None:
            continue
        if is_key:
            fix = renaming(pods.obj, steps, today) if today not in pods.node_selector else None
        else:
            fix = setting(pods.obj, f"write {today}", (steps, today))
        yield Problem(
            message=f"the node label {label} is deprecated; {today} replaces it",
            steps=steps,
            help=f"write {today}",
            fix=fix,
            key=is_key,
        )

"""Custom resources whose pods no rule checks: another tool renders them, or their pod template is not known."""

from collections import Counter
from typing import Any, Final, NamedTuple

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.values import at
from kschedctl.objects.kinds import KINDS
from kschedctl.objects.schema.schema import kinds_by_version

#: The kinds that a controller renders to manifests in the cluster: charts, kustomizations, and applications of both.
_RENDERED_IN_CLUSTER: Final = frozenset(
    (
        *("helm.toolkit.fluxcd.io/HelmRelease", "kustomize.toolkit.fluxcd.io/Kustomization"),
        *("helm.cattle.io/HelmChart", "argoproj.io/Application", "argoproj.io/ApplicationSet"),
    )
)
#: The fields with containers: those of pods, of Tekton's tasks, and of the templates of Argo's workflows.
_LISTS: Final = ("containers", "initContainers", "steps")
_SINGLE: Final = ("container", "script")
#: The suffixes of groups with policies and tests, which describe pods and create none.
_WITHOUT_PODS: Final = (".kyverno.io", ".gatekeeper.sh")


class UncheckedPods(NamedTuple):
    """The numbers of custom resources whose pods no rule checks, by kind.

    The group follows where Kubernetes has a kind of that name: ``Job.batch.volcano.sh``.
    """

    #: The resources that a controller renders in the cluster.
    not_rendered: Counter[str]
    #: The resources with containers at a place that lint does not know.
    unchecked: Counter[str]


def unchecked_pods(context: LintContext) -> UncheckedPods:
    """Return the custom resources of a run whose pods no rule checks; patches of them are not counted."""
    found = UncheckedPods(Counter(), Counter())
    for obj in context.manifests.whole:
        kind = f"{obj.kind}.{obj.group}" if obj.foreign and obj.group else obj.kind
        if obj.type in _RENDERED_IN_CLUSTER:
            found.not_rendered[kind] += 1
        elif obj.type not in context.templates and _is_custom(obj) and _has_containers(obj.raw):
            found.unchecked[kind] += 1
    return found


def _is_custom(obj: LintObject) -> bool:
    if (obj.group, obj.kind) in KINDS or obj.kind in kinds_by_version().get(obj.api_version, ()):
        return False
    # OpenShift had its kinds in the core group, too.
    return (not obj.group or "." in obj.group) and not f".{obj.group}".endswith(_WITHOUT_PODS)


def _has_containers(raw: Any) -> bool:
    """Report whether a value has a container with an image, at any depth."""
    waiting = [raw]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            single = (value.get(name) for name in _SINGLE)
            several = (each for name in _LISTS if isinstance(value.get(name), list) for each in value[name])
            if any(at(each, "image") for each in (*single, *several)):
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False

"""Labels of pods that do not exist yet, and selectors on them, whose result is yes, no or uncertain."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kschedctl.common.wording import mistakes
from kschedctl.linter.values import converted, is_rendered
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.selectors import Requirement, SelectorError, parse_label_selector
from kschedctl.objects.well_known import POD_TEMPLATE_HASH

#: The label that a controller adds to its pods, with another value for each revision of the pod template.
REVISION_LABELS: Final[Mapping[str, str]] = {
    "apps/Deployment": POD_TEMPLATE_HASH,
    "argoproj.io/Rollout": "rollouts-pod-template-hash",
    "apps.openshift.io/DeploymentConfig": "deployment",
    "apps/StatefulSet": "controller-revision-hash",
    "apps/DaemonSet": "controller-revision-hash",
}
#: The other labels that a controller adds to the pods that it creates.
_ADDED: Final[Mapping[str, frozenset[str]]] = {
    "argoproj.io/Rollout": frozenset(("role",)),
    "apps.openshift.io/DeploymentConfig": frozenset(("deploymentconfig",)),
    "apps/StatefulSet": frozenset(("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index")),
    "apps/DaemonSet": frozenset(("pod-template-generation",)),
    **dict.fromkeys(
        ("batch/Job", "batch/CronJob"),
        frozenset(
            (
                "job-name",
                "controller-uid",
                "batch.kubernetes.io/job-name",
                "batch.kubernetes.io/controller-uid",
                "batch.kubernetes.io/job-completion-index",
            )
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class PodLabels:
    """The labels of the pods that an object creates."""

    #: The labels whose values are known.
    known: Mapping[str, str]
    #: The keys of labels that exist or may exist, with a value that is not known.
    unknown: frozenset[str] = frozenset()
    #: True if the pods may have any other label.
    open: bool = False

    @classmethod
    def of(cls, labels: Mapping[str, Any], type_: str = "", *, open: bool = False) -> "PodLabels":  # noqa: A002
        """Return the labels of a template, and those that the controller of its kind adds."""
        known = {key: value for key, value in labels.items() if isinstance(value, str)}
        known = {key: value for key, value in known.items() if is_rendered(key) and is_rendered(value)}
        added = {REVISION_LABELS[type_]} if type_ in REVISION_LABELS else set()
        unknown = frozenset(key for key in labels if key not in known) | _ADDED.get(type_, frozenset()) | added
        return cls(known, unknown - known.keys(), open or not all(map(is_rendered, labels)))

    def may_have(self, key: str) -> bool:
        return key in self.known or key in self.unknown or self.open

    def fulfil(self, requirements: Iterable[Requirement]) -> bool | None:
        """Report whether all requirements hold; ``None`` if that is uncertain."""
        told: bool | None = True
        for requirement in requirements:
            value = self.known.get(requirement.key)
            if value is None and self.may_have(requirement.key):
                told = None
            elif not requirement.holds(value):
                return False
        return told


def requirements_of(selector: Any) -> tuple[Requirement, ...] | None:
    """Return a label selector of a manifest as requirements; ``None`` if it is malformed or has placeholders."""
    typed = converted(selector, LabelSelector)
    if typed is None:
        return None
    try:
        return parse_label_selector(typed)
    except SelectorError:
        return None


def holds(selector: Any, labels: PodLabels) -> bool | None:
    """Report whether a label selector of a manifest matches labels; ``None`` if that is uncertain.

    Args:
        selector: The selector as written; ``None`` matches nothing, an empty selector matches everything.
    """
    if selector is None:
        return False
    requirements = requirements_of(selector)
    if requirements is None:
        return None
    return labels.fulfil(requirements)


def selects_everything(selector: Any) -> bool:
    """Report whether a selector has no requirements, and so selects everything."""
    return isinstance(selector, dict) and not selector.get("matchLabels") and not selector.get("matchExpressions")


def near_miss(selector: Any, labels: PodLabels) -> Requirement | None:
    """Return the only requirement of a selector that labels do not fulfil; ``None`` if there is none, or several.

    The labels lack its key, or their value is a misspelling of its value: another value is meant for other pods.
    """
    requirements = requirements_of(selector) or ()
    failed = [each for each in requirements if labels.fulfil((each,)) is not True]
    if len(failed) != 1 or len(requirements) < 2 or labels.fulfil(failed) is None:
        return None
    value = labels.known.get(failed[0].key)
    if value is None and _tells_others(failed[0].key, labels):
        return None
    is_misspelt = value is not None and any(mistakes(value, other) > 0 for other in failed[0].values)
    return failed[0] if value is None or is_misspelt else None


#: The keys of labels, after the domain, that tell the parts of an application from one another.
_OF_PARTS: Final = frozenset(("component", "part", "role", "tier"))
#: The domain of the labels that Kubernetes recommends for any workload.
_RECOMMENDED: Final = "app.kubernetes.io"


def _tells_others(key: str, labels: PodLabels) -> bool:
    """Report whether pods without a label are probably others than those with it, which an operator may create."""
    domain, _, name = key.rpartition("/")
    has_domain = domain in ("", _RECOMMENDED) or any(each.startswith(f"{domain}/") for each in labels.known)
    return name in _OF_PARTS or not has_domain


def differing(selector: Any, labels: PodLabels) -> str:
    """Return the requirements of a selector that do not hold, as text."""
    requirements = requirements_of(selector) or ()
    failed = [each for each in requirements if labels.fulfil((each,)) is False]
    return " and ".join(map(str, failed))

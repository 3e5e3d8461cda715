"""The reasons for which an API server refuses a controller's pods, from the message of the condition FailedCreate.

The message is ``pods "web-" is forbidden: REASON``, or the error of a webhook. Nobody sees it on a pod, because the
pod does not exist: it is in the status of the ReplicaSet, and in its events.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.scheduler.framework.remedy import Risk

#: The reason why no such cure is tried.
UNTRIED: Final = "an API server admits pods, not the scheduler"
#: A quota's refusal. A resource list is ``requests.cpu=1,pods=1``.
_EXCEEDED: Final = re.compile(
    r"exceeded quota: (?P<quota>[^,\s]+), requested: (?P<requested>\S*), used: (?P<used>\S*), limited: (?P<limited>\S*)"
)
_FORBIDDEN: Final = re.compile(r"^.*? is forbidden: ", re.DOTALL)
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class AdmissionRefusal:
    """A refusal in our words.

    Attributes
    ----------
    rule : str
        The name of the kind of refusal, such as ``refused-by-quota``.
    phrase : str
        The refusal as a clause whose object is the pods: ``the ServiceAccount shop/bot of its pods does not exist``.
    advice : tuple of Advice
        The cures.
    """

    rule: str
    phrase: str
    advice: tuple[Advice, ...]


@dataclass(frozen=True, slots=True)
class QuotaNumbers:
    """The numbers of a quota's refusal as text, by resource."""

    quota: str
    requested: dict[str, str]
    used: dict[str, str]
    limited: dict[str, str]


def quota_numbers(message: str) -> QuotaNumbers | None:
    """Return the numbers in the message of a quota that is exceeded, or ``None`` for any other message.

    Examples
    --------
    >>> quota_numbers('pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2').used
    {'pods': '2'}
    """
    found = _EXCEEDED.search(message)
    if found is None:
        return None
    lists = (
        dict(part.partition("=")[::2] for part in found[name].split(",") if "=" in part)
        for name in ("requested", "used", "limited")
    )
    return QuotaNumbers(found["quota"], *lists)


def refusal(message: str, namespace: str, edit: str) -> AdmissionRefusal:
    """Return the refusal that a message reports, a quota that is exceeded aside.

    Parameters
    ----------
    message : str
        The message of the condition; empty if the snapshot does not have it.
    namespace : str
        The namespace of the pods.
    edit : str
        The command that edits the workload.
    """
    said = _FORBIDDEN.sub("", message).strip()
    for kind in _KINDS:
        if (found := kind.pattern.search(said)) is not None:
            fields = {"ns": namespace, "edit": edit, **found.groupdict()}
            advice = tuple(
                Advice(summary=s.format(**fields), risk=risk, untried=UNTRIED, command=c.format(**fields))
                for s, risk, c in kind.cures
            )
            return AdmissionRefusal(kind.rule, kind.phrase.format(**fields), advice)
    what = f": {said[:_LONGEST]}" if said else ""
    return AdmissionRefusal("refused-pods", f"an API server refuses its pods{what}", ())


@dataclass(frozen=True, slots=True)
class _Kind:
    rule: str
    pattern: re.Pattern[str]
    phrase: str
    cures: tuple[tuple[str, Risk, str], ...]


def _kind(rule: str, pattern: str, phrase: str, *cures: tuple[str, Risk, str]) -> _Kind:
    return _Kind(rule, re.compile(pattern, re.DOTALL), phrase, cures)


_KINDS: Final = (
    _kind(
        "refused-without-request",
        r"failed quota: (?P<quota>[^:]+): must specify (?P<what>.+)",
        "quota {quota} refuses pods that do not specify {what}",
        ("specify {what} in the pod template", Risk.POD, "{edit}"),
        (
            "give namespace {ns} a LimitRange with default requests and limits",
            Risk.SHARED,
            "# create a LimitRange in {ns} with default and defaultRequest",
        ),
    ),
    _kind(
        "refused-by-quota-scope",
        r"insufficient quota to match these scopes: (?P<scopes>.+)",
        "no quota of {ns} matches the scopes that pods of this priority require: {scopes}",
        ("create a ResourceQuota in {ns} with scopes {scopes}", Risk.SHARED, "# create a ResourceQuota in {ns}"),
    ),
    _kind(
        "refused-without-service-account",
        r'error looking up service account (?P<account>\S+): serviceaccounts? "[^"]*" not found',
        "the ServiceAccount {account} of its pods does not exist",
        (
            "create ServiceAccount {account}, or correct serviceAccountName",
            Risk.MISTAKE,
            "kubectl create serviceaccount -n {ns} NAME    # the name in {account}",
        ),
    ),
    _kind(
        "refused-without-priority-class",
        r"no PriorityClass with name (?P<name>\S+) was found",
        "the PriorityClass {name} of its pods does not exist",
        ("create PriorityClass {name}, or correct priorityClassName", Risk.MISTAKE, "{edit}"),
    ),
    _kind(
        "refused-without-runtime-class",
        r'RuntimeClass "?(?P<name>[^"\s]+)"? not found',
        "the RuntimeClass {name} of its pods does not exist",
        ("create RuntimeClass {name}, or correct runtimeClassName", Risk.MISTAKE, "{edit}"),
    ),
    _kind(
        "webhook-fails",
        r'failed calling webhook "(?P<name>[^"]+)": (?P<why>.{1,160})',
        "the admission webhook {name} cannot be reached, and its failurePolicy is Fail: {why}",
        (
            "repair the service of admission webhook {name}",
            Risk.MISTAKE,
            "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml | grep -A9 {name}",
        ),
        (
            "exempt namespace {ns} from webhook {name} (namespaceSelector), or set its failurePolicy to Ignore",
            Risk.DROPPED,
            "# edit the webhook configuration of {name}",
        ),
    ),
    _kind(
        "refused-by-webhook",
        r'admission webhook "(?P<name>[^"]+)" denied the request:? ?(?P<why>.{0,160})',
        "the admission webhook {name} refuses its pods: {why}",
        ("change the pod template as webhook {name} requires: {why}", Risk.POD, "{edit}"),
    ),
    _kind(
        "refused-by-policy",
        r"ValidatingAdmissionPolicy '(?P<name>[^']+)'.*denied request: (?P<why>.{0,160})",
        "ValidatingAdmissionPolicy {name} refuses its pods: {why}",
        ("change the pod template as policy {name} requires: {why}", Risk.POD, "{edit}"),
    ),
    _kind(
        "refused-by-pod-security",
        r'violates PodSecurity "(?P<level>[^"]+)": (?P<why>.{0,160})',
        "namespace {ns} enforces PodSecurity {level}, which its pods violate: {why}",
        ("give the pod template the security context that {level} requires", Risk.POD, "{edit}"),
        (
            "lower the PodSecurity level of namespace {ns}",
            Risk.DROPPED,
            "kubectl label namespace {ns} --overwrite pod-security.kubernetes.io/enforce=baseline",
        ),
    ),
    _kind(
        "refused-in-terminating-namespace",
        r"namespace (?P<name>\S+) because it is being terminated",
        "namespace {name} is being deleted, and gets no new pods",
        ("deploy it to another namespace, or create {ns} again once it is gone", Risk.SHARED, "{edit}"),
    ),
    _kind(
        "refused-request-above-limit",
        r'Invalid value: "(?P<value>[^"]+)": must be less than or equal to (?P<resource>\S+) limit of (?P<limit>\S+)',
        "its pods request {value} {resource} and have a limit of {limit}, which a request must not exceed; a limit "
        "that the pod template does not set is the default of a LimitRange",
        (
            "set the {resource} limit in the pod template to {value} or more, or request {limit} or less",
            Risk.POD,
            "{edit}",
        ),
        ("look at the defaults of the LimitRange of {ns}", Risk.SHARED, "kubectl get limitrange -n {ns} -o yaml"),
    ),
    _kind(
        "refused-by-limit-range",
        r"(?P<what>(?:maximum|minimum|max limit to request ratio|\S+ max limit to request ratio)[^\]]*"
        r"(?:usage|ratio) per (?:Container|Pod)[^\]]*)",
        "a LimitRange of {ns} refuses its pods: {what}",
        ("request within the LimitRange of {ns}: {what}", Risk.POD, "{edit}"),
        ("change the LimitRange of {ns}", Risk.SHARED, "kubectl edit limitrange -n {ns}"),
    ),
)

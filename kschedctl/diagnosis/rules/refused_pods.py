"""Workloads with fewer pods than they want, because an API server refuses the pods that their controller creates."""

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.common.errors import InputError, SnapshotError
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.admission.chain import admit
from kschedctl.controllers.admission.changes import Admitted
from kschedctl.controllers.admission.resource_quota import QuotaShare, quota_shares
from kschedctl.controllers.workloads.ownership import wanted_replicas, workload_of
from kschedctl.controllers.workloads.pods import another
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.diagnosis.diagnosis import Advice, ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.evidence.events import Meaning, MessageKind, events_about, meaning, one_line, said
from kschedctl.diagnosis.node_health import since
from kschedctl.objects.core import Condition
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import NANO, Amount, QuantityError, parse_quantity
from kschedctl.objects.resources import CPU, MEMORY, RequestRules, format_nanos
from kschedctl.objects.workload import DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.trials.simulate.capacity import copies_that_fit
from kschedctl.trials.whatif.pods import workload_pods

# The reasons for which an API server refuses a controller's pods, from the message of the condition FailedCreate.
#
# The message is ``pods "web-" is forbidden: REASON``, or the error of a webhook. Nobody sees it on a pod, because the
# pod does not exist: it is in the status of the ReplicaSet, and in its events.

#: The reason why no such cure is tried.
UNTRIED: Final = "an API server admits pods, not the scheduler"
#: A quota's refusal. A resource list is ``requests.cpu=1,pods=1``.
_EXCEEDED: Final = re.compile(
    r"exceeded quota: (?P<quota>[^,\s]+), requested: (?P<requested>\S*), used: (?P<used>\S*), limited: (?P<limited>\S*)"
)
_FORBIDDEN: Final = re.compile(r"^.*? is forbidden: ", re.DOTALL)
#: The beginning of a message in an Event.
_ERROR_CREATING: Final = "Error creating: "


@dataclass(frozen=True, slots=True)
class QuotaNumbers:
    """The numbers of a quota's refusal as text, by resource."""

    quota: str
    requested: dict[str, str]
    used: dict[str, str]
    limited: dict[str, str]


def quota_numbers(message: str) -> QuotaNumbers | None:
    """Return the numbers in the message of a quota that is exceeded, or ``None`` for any other message.

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


def refusal(message: str, namespace: str, edit: str) -> Meaning:
    """Return the refusal that a message reports, a quota that is exceeded aside.

    Args:
        message: The message of the condition; empty if the snapshot does not have it.
    """
    text = _FORBIDDEN.sub("", message).removeprefix(_ERROR_CREATING).strip()
    what = f": {one_line(text)}" if text else ""
    known = meaning(text, _KINDS, UNTRIED, ns=namespace, edit=edit)
    if known is not None or not text:
        return known or Meaning("refused-pods", "an API server refuses its pods", ())
    repair = Advice(summary=f"correct what the refusal names{what}", risk=Risk.POD, untried=UNTRIED, command=edit)
    return Meaning("refused-pods", f"an API server refuses its pods{what}", (repair,))


_KINDS: Final = (
    MessageKind.of(
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
    MessageKind.of(
        "refused-by-quota-scope",
        r"insufficient quota to match these scopes: \[?\{?(?P<scopes>.+?)\}?\]?$",
        "no quota of {ns} matches the scopes that pods of this priority require: {scopes}",
        (
            "create a ResourceQuota in {ns} with scopes {scopes}, as the namespaces of such pods have",
            Risk.MISTAKE,
            "# create a ResourceQuota in {ns} with scopeSelector {scopes}",
        ),
        ("another priorityClassName in the pod template, or none", Risk.POD, "{edit}"),
    ),
    MessageKind.of(
        "refused-without-service-account",
        r'error looking up service account (?P<account>\S+): serviceaccounts? "[^"]*" not found',
        "the ServiceAccount {account} of its pods does not exist",
        (
            "create ServiceAccount {account}, or correct serviceAccountName",
            Risk.MISTAKE,
            "kubectl create serviceaccount -n {ns} NAME    # the name in {account}",
        ),
    ),
    MessageKind.of(
        "refused-without-priority-class",
        r"no PriorityClass with name (?P<name>\S+) was found",
        "the PriorityClass {name} of its pods does not exist",
        ("create PriorityClass {name}, or correct priorityClassName", Risk.MISTAKE, "{edit}"),
    ),
    MessageKind.of(
        "refused-without-runtime-class",
        r'RuntimeClass "?(?P<name>[^"\s]+)"? not found',
        "the RuntimeClass {name} of its pods does not exist",
        ("create RuntimeClass {name}, or correct runtimeClassName", Risk.MISTAKE, "{edit}"),
    ),
    MessageKind.of(
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
    MessageKind.of(
        "refused-by-webhook",
        r'admission webhook "(?P<name>[^"]+)" denied the request:? ?(?P<why>.{0,160})',
        "the admission webhook {name} refuses its pods: {why}",
        ("change the pod template as webhook {name} requires: {why}", Risk.POD, "{edit}"),
    ),
    MessageKind.of(
        "refused-by-policy",
        r"ValidatingAdmissionPolicy '(?P<name>[^']+)'.*denied request: (?P<why>.{0,160})",
        "ValidatingAdmissionPolicy {name} refuses its pods: {why}",
        ("change the pod template as policy {name} requires: {why}", Risk.POD, "{edit}"),
    ),
    MessageKind.of(
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
    MessageKind.of(
        "refused-by-security-context-constraints",
        r"unable to validate against any security context constraint: \[?(?P<why>.*?)\]?$",
        "no SecurityContextConstraints that its service account may use admit its pods: {why}",
        (
            "give the pod template a security context that restricted-v2 admits: no fixed user, group or privilege",
            Risk.POD,
            "{edit}",
        ),
        (
            "if its program needs them, allow the service account of its pods to use a constraint that has them",
            Risk.SHARED,
            "oc adm policy add-scc-to-user SCC -z SERVICEACCOUNT -n {ns}",
        ),
    ),
    MessageKind.of(
        "refused-in-terminating-namespace",
        r"namespace (?P<name>\S+) because it is being terminated",
        "namespace {name} is being deleted, and gets no new pods",
        ("deploy it to another namespace, or create {ns} again once it is gone", Risk.SHARED, "{edit}"),
    ),
    MessageKind.of(
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
    MessageKind.of(
        "refused-by-limit-range",
        r"(?P<what>(?:maximum|minimum|max limit to request ratio|\S+ max limit to request ratio)[^\]]*"
        r"(?:usage|ratio) per (?:Container|Pod)[^\]]*)",
        "a LimitRange of {ns} refuses its pods: {what}",
        ("request within the LimitRange of {ns}: {what}", Risk.POD, "{edit}"),
        ("change the LimitRange of {ns}", Risk.SHARED, "kubectl edit limitrange -n {ns}"),
    ),
)


_BY_QUOTA: Final = "refused-by-quota"
#: The scope of a quota that counts only pods without requests and limits.
_BEST_EFFORT: Final = "BestEffort"
_FAILURE: Final = "ReplicaFailure"
_FAILED_CREATE: Final = "FailedCreate"
_ENDED: Final = frozenset({"Complete", "Failed"})
#: The longest pause of a controller between two tries, in minutes (1,000 s).
_PAUSE: Final = 17
_WORDS: Final = {"Deployment": "replicas", "StatefulSet": "replicas", "ReplicaSet": "replicas"}
#: At most 20 findings say whether the missing pods would fit on the nodes.
_MOST_COUNTED: Final = 20
#: The admission of one more pod is tried for at most 500 workloads.
_MOST: Final = 500
#: The smallest useful steps of a lowered request: 1 milli-CPU, 1 MiB.
_STEPS: Final = {CPU: NANO // 1000, MEMORY: (1 << 20) * NANO}


#: The missing usage of all refused workloads, in nano-units, by namespace, quota and resource.
_Demand = dict[tuple[str, str, str], int]


@dataclass(frozen=True, slots=True)
class _Short:
    """A controller object with fewer pods than it wants, the next of its pods after admission, and its quotas."""

    obj: ApiObject
    has: int
    wants: int
    failure: Condition | None = None
    admitted: Admitted | None = None
    objects: tuple[ApiObject, ...] = ()
    problem: str = ""
    shares: tuple[QuotaShare, ...] = ()

    @property
    def missing(self) -> int:
        return self.wants - self.has


def refused_pods(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Workloads with fewer pods than they want, because an API server refuses the pods that their controller creates.

    A refused pod does not exist, so it is in no list of pending pods and has no events. A ReplicaSet shows the refusal in
    its condition ReplicaFailure (reason FailedCreate); other controllers write an event only. For them, and where the
    condition has no message, the admission of one more pod of the template is computed: quotas, LimitRanges, classes.

    Operators raise the quota, lower the requests, or repair what the message names.
    """
    # Yield the workloads whose pods an API server refuses, those that miss most pods first.
    short = sorted(_short(situation), key=lambda one: -one.missing)
    tried = [_next_pod_tried(situation, one) for one in short[:_MOST]]
    demand: _Demand = {}
    for one in tried:
        if any(share.exceeded_by(1) for share in one.shares):
            for share in one.shares:
                key = _share_key(share)
                demand[key] = demand.get(key, 0) + one.missing * share.each.nanos
    n_found = 0
    for one in tried:
        found = _refusal_cause(situation, one, demand, counts=n_found < _MOST_COUNTED)
        if found is not None:
            n_found += 1
            yield found


def _short(situation: ClusterSituation) -> Iterator[_Short]:
    cluster = situation.cluster
    kinds: tuple[type[ReplicaSet | ReplicationController], ...] = (ReplicaSet, ReplicationController)
    for kind in kinds:
        for obj in cluster.list(kind):
            yield from _of(
                situation,
                obj,
                wanted_replicas(obj),
                obj.status.replicas,
                next(
                    (
                        c
                        for c in obj.status.conditions
                        if c.type == _FAILURE and c.status == "True" and c.reason in (_FAILED_CREATE, "")
                    ),
                    None,
                ),
            )
    for stateful_set in cluster.list(StatefulSet):
        yield from _of(situation, stateful_set, wanted_replicas(stateful_set), stateful_set.status.replicas)
    for daemon_set in cluster.list(DaemonSet):
        status = daemon_set.status
        yield from _of(situation, daemon_set, status.desired_number_scheduled, status.current_number_scheduled)
    for job in cluster.list(Job):
        ended = any(each.type in _ENDED and each.status == "True" for each in job.status.conditions)
        if job.status.start_time is not None and not ended:
            yield from _of(situation, job, _parallel(job), job.status.active)


def _of(
    situation: ClusterSituation, obj: ApiObject, wants: int, reported: int | None, failure: Condition | None = None
) -> Iterator[_Short]:
    """Yield an object if it lacks pods, by its own status and by the pods of the cluster."""
    if obj.metadata.deletion_timestamp is not None or not wants:
        return
    if not situation.concerns(_known_workload(situation, obj)):
        return
    pods = situation.cluster.pods
    own = pods.by_controller.get((type(obj).__name__, obj.namespace, obj.name), ())
    stored = sum(pods.records[index].metadata.deletion_timestamp is None for index in own)
    if reported is None and failure is None and not stored:
        # No controller has reported anything: the object is a manifest, or new.
        return
    has = max(reported or 0, stored)
    if has < wants:
        yield _Short(obj, has, wants, failure)


def _parallel(job: Job) -> int:
    """Return the number of pods of a Job that run at once, now."""
    spec = job.spec
    if spec.suspend:
        return 0
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        return 0 if job.status.succeeded else parallelism
    return max(min(parallelism, spec.completions - job.status.succeeded), 0)


def _share_key(share: QuotaShare) -> tuple[str, str, str]:
    return share.quota.namespace, share.quota.name, share.resource


def _next_pod_tried(situation: ClusterSituation, one: _Short) -> _Short:
    """Return the object with the next of its pods, and the result of the admission of that pod."""
    try:
        missing = workload_pods(situation.cluster, one.obj, more=1).missing
    except (InputError, SnapshotError):
        return one
    if not missing:
        return one
    admitted, problem = _admitted(situation, missing[0].pod)
    shares = tuple(_shares(situation, admitted))
    return dataclasses.replace(one, admitted=admitted, objects=missing[0].objects, problem=problem, shares=shares)


def _refusal_cause(
    situation: ClusterSituation, one: _Short, demand: _Demand, *, counts: bool
) -> ClusterDiagnosis | None:
    message = one.failure.message if one.failure is not None else ""
    event = None
    if not message:
        # Only ReplicaSets have the condition; every controller writes an Event.
        kind = type(one.obj).__name__
        events = events_about(situation.cluster, kind, one.obj.namespace, one.obj.name)
        event = next((each for each in events if each.reason == _FAILED_CREATE), None)
        message = event.message if event is not None else ""
    found: tuple[Meaning, tuple[str, ...]] | None = None
    if quota_numbers(message) is not None or (not message and any(share.exceeded_by(1) for share in one.shares)):
        found = _by_quota(one, _known_workload(situation, one.obj)[2], message, demand)
    elif message or one.problem:
        found = refusal(message or one.problem, one.obj.namespace, _edit(situation, one)), ()
    elif one.failure is not None:
        found = refusal("", one.obj.namespace, _edit(situation, one)), ()
    if found is None:
        return None
    refused, evidence = found
    kind, namespace, name = _known_workload(situation, one.obj)
    owner = situation.cluster.get(Deployment, name, one.obj.namespace) if kind == Deployment.__name__ else None
    in_rollout = owner is not None and (owner.spec.replicas or 1) != one.wants
    fit = tuple(_fit(situation, one, one.admitted)) if counts and one.admitted is not None else ()
    source = f"{type(one.obj).__name__} {one.obj.namespace}/{one.obj.name}"
    begun = one.failure.last_transition_time if one.failure is not None else None
    condition = (f"{source}, condition {_FAILURE}: {message}",) if message and event is None else ()
    if event is not None:
        condition = (f"{source}, Event of {said(event)}",)
    return ClusterDiagnosis(
        rule=refused.rule,
        cause=refused.phrase
        if refused.rule == _BY_QUOTA or not begun
        else f"{refused.phrase} ({since(begun).strip()})",
        evidence=(*evidence, *fit, *condition),
        advice=refused.advice,
        checks=(f"kubectl describe {type(one.obj).__name__.lower()} -n {one.obj.namespace} {one.obj.name}",),
        kind=kind,
        namespace=namespace,
        name=name,
        state=f"has {one.has} of {one.wants} {'new pods of its rollout' if in_rollout else _WORDS.get(kind, 'pods')}",
        missing=one.missing,
        since=begun,
    )


def _known_workload(situation: ClusterSituation, obj: ApiObject) -> tuple[str, str, str]:
    """Return the workload that people know: the Deployment of a ReplicaSet, the CronJob of a Job."""
    kind, namespace, name = workload_of(situation.cluster, obj.metadata)
    return (type(obj).__name__, obj.namespace, obj.name) if kind == Pod.__name__ else (kind, namespace, name)


def _edit(situation: ClusterSituation, one: _Short) -> str:
    kind, namespace, name = _known_workload(situation, one.obj)
    return f"kubectl edit {kind.lower()} -n {namespace} {name}"


def _admitted(situation: ClusterSituation, pod: Pod) -> tuple[Admitted | None, str]:
    """Return a pod after admission, or the reason for which an API server refuses it."""
    try:
        admitted = admit(pod, situation.cluster, release=situation.release)
    except InputError as error:
        return None, error.findings[0].problem
    except SnapshotError:
        return None, ""
    # A quota that is used up is found by its shares, with numbers; any other refusal is in the message alone.
    said = (each.message for each in admitted.quota_refusals if quota_numbers(each.message) is None)
    return admitted, next(said, "")


def _shares(situation: ClusterSituation, admitted: Admitted | None) -> list[QuotaShare]:
    if admitted is None:
        return []
    try:
        return list(quota_shares(admitted.pod, situation.cluster, RequestRules.of(situation.release)))
    except QuantityError:
        return []


def _by_quota(one: _Short, workload: str, message: str, demand: _Demand) -> tuple[Meaning, tuple[str, ...]]:
    """Return the refusal by quotas, with the limits that admit all pods and the requests that fit the limits."""
    full = [share for share in one.shares if share.exceeded_by(1)]
    tight = [share for share in one.shares if share.exceeded_by(one.missing)]
    numbers = quota_numbers(message)
    begun = since(one.failure.last_transition_time) if one.failure is not None else ""
    if numbers is not None and not full:
        parts = [
            _numbers(name, numbers.used.get(name, "?"), numbers.limited.get(name, "?"), wanted)
            for name, wanted in numbers.requested.items()
        ]
        if any(share.quota.name == numbers.quota for share in one.shares):
            wait = Advice(
                summary=f"wait: the controller tries again within {_PAUSE} min, and the quota has room now",
                risk=Risk.WAIT,
                untried=UNTRIED,
            )
            phrase = f"quota {numbers.quota} refused {_rest(one)}{begun} ({listed(parts)}), and has room now"
            return Meaning(_BY_QUOTA, phrase, (wait, *_raise(one, tight, demand))), ()
        phrase = f"quota {numbers.quota} refuses {_rest(one)}{begun}: {listed(parts)}"
        limits = {
            name: _raised(numbers.used.get(name, "0"), wanted, one.missing)
            for name, wanted in numbers.requested.items()
        }
        whom = f"all {one.wants} pods"
        return Meaning(_BY_QUOTA, phrase, (_raise_to(numbers.quota, one.obj.namespace, limits, whom),)), ()
    names = list(dict.fromkeys(share.quota.name for share in full))
    several = len(names) > 1
    parts = [_numbers(share.resource, str(share.used), str(share.hard), str(share.each)) for share in full]
    phrase = f"quota{'s' * several} {listed(names)} refuse{'s' * (not several)} {_rest(one)}{begun}: {listed(parts)}"
    outside = tuple(_outside_of_scope(full, workload))
    return Meaning(_BY_QUOTA, phrase, (*outside, *_raise(one, tight, demand), *_lower(one, workload, tight))), ()


def _outside_of_scope(full: Sequence[QuotaShare], workload: str) -> Iterator[Advice]:
    """Yield the request with which the pods are not among those that quotas for pods without requests count."""
    quotas = {share.quota.name: share.quota for share in full}
    if quotas and all(_BEST_EFFORT in each.spec.scopes for each in quotas.values()):
        yield Advice(
            summary=f"give the pods of {workload} requests: quota {listed(list(quotas))} counts only pods without any "
            f"(scope {_BEST_EFFORT})",
            risk=Risk.POD,
            untried=UNTRIED,
            command=f"# set resources.requests in the pod template of {workload}",
        )


def _numbers(name: str, used: str, hard: str, each: str) -> str:
    return f"{name} {_readable(name, used)} of {_readable(name, hard)} used, {_readable(name, each)} more asked for"


def _readable(name: str, quantity: str) -> str:
    """Format a quantity of a quota for people; a text that is no quantity stays as it is."""
    try:
        return format_nanos(name, parse_quantity(quantity))
    except QuantityError:
        return quantity


def _raised(used: str, wanted: str, missing: int) -> str:
    try:
        amount = Amount.parse(used)
        return str(Amount(amount.nanos + missing * Amount.parse(wanted).nanos, amount.form))
    except QuantityError:
        return "more"


def _rest(one: _Short) -> str:
    return "the rest" if one.has else "its pods"


def _raise(one: _Short, tight: Sequence[QuotaShare], demand: _Demand) -> tuple[Advice, ...]:
    """Return the advice to raise all limits that do not admit the missing pods, of this workload and of others."""
    by_quota: dict[str, dict[str, str]] = {}
    whom = f"all {one.wants} pods"
    for share in tight:
        own = one.missing * share.each.nanos
        wanted = max(demand.get(_share_key(share), 0), own)
        if wanted > own:
            whom = "the missing pods of all workloads"
        by_quota.setdefault(share.quota.name, {})[share.resource] = str(share.raised_by(wanted))
    raises = [_raise_to(quota, one.obj.namespace, limits, whom) for quota, limits in by_quota.items()]
    if len(raises) < 2:
        return tuple(raises)
    summary, command = listed([each.summary for each in raises]), " && ".join(each.command for each in raises)
    return (Advice(summary=summary, risk=Risk.SHARED, untried=UNTRIED, command=command),)


def _raise_to(quota: str, namespace: str, limits: dict[str, str], whom: str) -> Advice:
    what = listed([f"{name} of quota {quota} to {_readable(name, limit)}" for name, limit in limits.items()])
    patch = json.dumps({"spec": {"hard": limits}})
    return Advice(
        summary=f"raise {what}, for {whom}",
        risk=Risk.SHARED,
        untried=UNTRIED,
        command=f"kubectl patch resourcequota {quota} -n {namespace} --type=merge -p '{patch}'",
    )


def _lower(one: _Short, workload: str, tight: Sequence[QuotaShare]) -> Iterator[Advice]:
    """Yield the advice to lower requests so far that all pods fit, where CPU or memory is what the quota lacks."""
    lowest: dict[str, tuple[Amount, Amount]] = {}
    for share in tight:
        prefix, dot, resource = share.resource.rpartition(".")
        resource, field = (resource, prefix) if dot else (share.resource, "requests")
        step = _STEPS.get(resource)
        if step is None or field not in ("requests", "limits"):
            return
        others = max(share.used.nanos - one.has * share.each.nanos, 0)
        each = (share.hard.nanos - others) // one.wants // step * step
        if each <= 0:
            return
        known = lowest.get(f"{resource} {field[:-1]}")
        if known is None or each < known[1].nanos:
            lowest[f"{resource} {field[:-1]}"] = (share.each, Amount(each, share.each.form))
    if lowest:
        what = listed(
            [
                f"{name} from {format_nanos(name.partition(' ')[0], old.nanos)} "
                f"to {format_nanos(name.partition(' ')[0], new.nanos)}"
                for name, (old, new) in lowest.items()
            ]
        )
        yield Advice(
            summary=f"lower the {what} in the pods of {workload}, so that {one.wants} fit the quota",
            risk=Risk.REDUCED,
            untried=UNTRIED,
            command=f"# lower the {what} in the pod template of {workload}",
        )


def _fit(situation: ClusterSituation, one: _Short, admitted: Admitted) -> Iterator[str]:
    """Yield the number of missing pods that would fit on the nodes if an API server admitted them."""
    pod = admitted.pod
    if isinstance(one.obj, DaemonSet) or not situation.scheduler.knows(pod) or not len(situation.cluster.nodes):
        return

    scheduler = situation.scheduler
    if one.objects:
        scheduler = scheduler.moved(scheduler.cluster.with_added(one.objects))

    def copy(number: int) -> MadePod:
        return another(pod, f"{pod.name}-{number}", scheduler.cluster)

    n_fit = copies_that_fit(scheduler, copy, one.missing)
    if n_fit == one.missing:
        yield f"once admitted, the {counted(one.missing, 'missing pod')} would fit on the nodes"
    else:
        yield f"once admitted, {n_fit or 'none'} of the {one.missing} missing pods would fit on the nodes"

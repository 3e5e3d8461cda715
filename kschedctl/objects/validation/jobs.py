"""Validation of Jobs and CronJobs, with their completion indexes and schedules."""

import re
from collections.abc import Collection
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

from kschedctl.objects.cron import CronError, Schedule
from kschedctl.objects.duration import Duration
from kschedctl.objects.field_errors import OMITTED, go_quote
from kschedctl.objects.names import label_problems, qualified_name_problems, subdomain_problems, too_long
from kschedctl.objects.validation.metadata import object_metadata, with_labels
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.placement import label_selector, selector_in_message, selects
from kschedctl.objects.validation.values import Tree, ValidationContext, in_go, sorted_labels
from kschedctl.objects.validation.workloads import pod_template

# Schedules and time zones.

_EVERY: Final = "@every "
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch


def _check_schedule(schedule: Part) -> None:
    try:
        _parse_schedule(schedule.value)
    except CronError as error:
        schedule.invalid(str(error))
    if "TZ" in schedule.value:
        schedule.invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead")


def _time_zone_problems(name: str) -> list[str]:
    if not name:
        return ["timeZone must be nil or non-empty string"]
    if any(part in (".", "..") or part.startswith("-") or not _ZONE_PART(part) for part in name.split("/")):
        return [f"unknown time zone {name}"]
    problems = []
    if name.lower() == "local":
        problems.append("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
    # Go does not open files with such names.
    if ".." in name or name.startswith("/"):
        problems.append("time: invalid location name")
    elif not _is_zone(name):
        problems.append(f"unknown time zone {name}")
    return problems


def _is_zone(name: str) -> bool:
    """Report whether a time zone exists; without a time zone database, every zone counts as existing."""
    return name in ("", "UTC", "Local") or _loads(name) or not _loads("Etc/UTC")


def _loads(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return False
    return True


def _parse_schedule(text: str) -> None:
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, space, rest = text.partition(" ")
        if not space:
            raise CronError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        zone = zone.partition("=")[2]
        if not _is_zone(zone):
            raise CronError(f"provided bad location {zone}: unknown time zone {zone}")
        text = rest.strip()
    if text.startswith(_EVERY):
        try:
            Duration.parse(text.removeprefix(_EVERY))
        except ValueError as error:
            raise CronError(f"failed to parse duration {text}: {error}") from None
    else:
        Schedule.parse(text)


class IndexesError(ValueError):
    """A text that is not a list of indexes; its message is the API server's."""


def count_indexes(text: str, completions: int) -> int:
    """Count the indexes in a list.

    Args:
        completions: The number of completions; each index must be less.

    Raises IndexesError if the text is not a list of indexes.

    >>> count_indexes("0-3,7", 8)
    5
    """
    total, last = 0, None
    for part in text.split(",") if text else ():
        limits = part.split("-")
        if len(limits) > 2:
            problem = f"the fragment {go_quote(part)} violates the requirement that an index interval can have at most"
            raise IndexesError(f"{problem} two parts separated by '-'")
        first = _parsed_index(limits[0], completions)
        end = _parsed_index(limits[-1], completions)
        if len(limits) == 2 and first >= end:
            raise IndexesError(f"non-increasing order, previous: {first}, current: {end}")
        if last is not None and last >= first:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def _parsed_index(text: str, completions: int) -> int:
    if not _INTEGER(text) or len(text) > 18:
        raise IndexesError(f"cannot convert string to integer for index: {go_quote(text)}")
    index = int(text)
    if index >= completions:
        raise IndexesError(f"too large index: {go_quote(text)}")
    return index


_INDEXED: Final = "Indexed"
_NON_INDEXED: Final = "NonIndexed"
_NUMBERS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_MOST_PARALLEL: Final = 100_000
_MANY_COMPLETIONS: Final = 100_000
_MOST_AT_MANY: Final = 10_000
_MOST_RULES: Final = 20
_MOST_EXIT_CODES: Final = 255
_LONGEST_MANAGER: Final = 63
_LONGEST_INDEXES: Final = 64 * 1024
_LONGEST_CRON_JOB: Final = 52
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
#: A stand-in for the uid of the new Job.
_UID: Final = "00000000-0000-0000-0000-000000000000"
#: The annotations that name the template of a Workload, from which the PodGroup of a Job is made.
_DELEGATION: Final = ("scheduling.k8s.io/workload-name", "scheduling.k8s.io/group-template-name")
_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")


def job(tree: Part, context: ValidationContext) -> None:
    """Check a Job."""
    metadata = tree.get("metadata", {})
    spec = tree.child("spec", dict(tree.get("spec", {})))
    name, own = metadata.get("name", ""), tree["spec"]["template"]["metadata"]["labels"]
    generated = [] if spec["manualSelector"] else _generate(spec.value, name)
    if own.given and not metadata.get("labels"):
        # An API server makes both label maps one object, so the generated labels are in both.
        metadata = with_labels(metadata, spec["template"]["metadata"]["labels"].value)
    object_metadata(tree.child("metadata", metadata), subdomain_problems, namespaced=True)
    selector, own = spec["selector"], spec["template"]["metadata"]["labels"]
    for key, wanted in generated:
        own.child(f"[{key}]", sorted_labels(own.value)).invalid(f"must be '{wanted}'")
    if not spec["manualSelector"] and selects(selector.value, _generated_labels(name)) is False:
        selector.invalid("`selector` not auto-generated", selector_in_message(selector.value))
    job_spec(spec, context)
    if not selector.given:
        selector.required()
    label_selector(selector)
    if selects(selector.value, own.value or {}) is False:
        own.invalid("`selector` does not match template `labels`", sorted_labels(own.value))
    _check_delegation(tree["metadata"]["annotations"], context)
    host = f"{name}-{spec.get('completions', 0) - 1}"
    if spec.get("completionMode") == _INDEXED and spec.get("completions", 0) > 0 and label_problems(host):
        problem = f"will not able to create pod with invalid DNS label: {host}"
        tree["metadata"].at("name", "").invalid(problem)


def _generated_labels(name: str) -> dict[str, str]:
    return dict.fromkeys(_NAME_LABELS, name) | dict.fromkeys(_UID_LABELS, _UID)


def _generate(spec: Tree, name: str) -> list[tuple[str, str]]:
    """Set the generated selector and labels in a Job's spec, and return the labels that have other values."""
    template, selector = spec.get("template", {}), spec.get("selector", {})
    wanted = _generated_labels(name)
    own = wanted | template.get("metadata", {}).get("labels", {})
    spec["template"] = {**template, "metadata": {**template.get("metadata", {}), "labels": own}}
    spec["selector"] = {**selector, "matchLabels": {_UID_LABELS[1]: _UID} | selector.get("matchLabels", {})}
    order = (_UID_LABELS[0], _NAME_LABELS[0], _UID_LABELS[1], _NAME_LABELS[1])
    return [(key, wanted[key]) for key in order if own[key] != wanted[key]]


def cron_job(tree: Part, context: ValidationContext) -> None:
    """Check a CronJob."""
    spec, name = tree["spec"], tree["metadata"]["name"]
    object_metadata(tree["metadata"], subdomain_problems, namespaced=True)
    if not context.rules.bounds_are_last:
        spec["schedule"].require()
    if spec["schedule"]:
        _check_schedule(spec["schedule"])
    spec["startingDeadlineSeconds"].not_negative()
    spec["timeZone"].typed.check(_time_zone_problems)
    spec["concurrencyPolicy"].nonempty.one_of("Allow", "Forbid", "Replace")
    inner = spec["jobTemplate"]["spec"]
    job_spec(inner, context, of_cron_job=True)
    _check_delegation(spec["jobTemplate"]["metadata"]["annotations"], context)
    if "selector" in inner:
        inner["selector"].invalid("`selector` will be auto-generated", selector_in_message(inner["selector"].value))
    if inner["manualSelector"]:
        inner["manualSelector"].unsupported(("nil", "false"), True)
    spec["successfulJobsHistoryLimit"].not_negative()
    spec["failedJobsHistoryLimit"].not_negative()
    if name and too_long(name.value, _LONGEST_CRON_JOB):
        name.invalid("must be no more than 52 characters")


def job_spec(spec: Part, context: ValidationContext, *, of_cron_job: bool = False) -> None:
    """Check a Job's spec.

    Args:
        of_cron_job: True for the spec in a CronJob, whose defaults are set only when its Jobs are created.
    """
    for name in _NUMBERS:
        spec[name].not_negative()
    per_index, most_failed = spec["backoffLimitPerIndex"], spec["maxFailedIndexes"]
    if most_failed.given and not per_index.given and not context.rules.more_is_declared:
        per_index.required("when maxFailedIndexes is specified")
    if "managedBy" in spec and context.on("JobManagedBy"):
        _check_manager(spec["managedBy"])
    mode = spec.at("completionMode", _NON_INDEXED)
    mode.one_of(_NON_INDEXED, _INDEXED)
    if mode.value == _INDEXED:
        _check_indexed(spec, of_cron_job)
    elif mode.value == _NON_INDEXED:
        for part in (per_index, most_failed):
            if part.given:
                part.invalid("requires indexed completion mode")
    if "podFailurePolicy" in spec:
        _check_failure_policy(spec["podFailurePolicy"]["rules"], spec)
    if "successPolicy" in spec:
        _check_success_policy(spec["successPolicy"], mode.value, spec.get("completions", 1))
    others = () if "podFailurePolicy" in spec else ("TerminatingOrFailed",)
    spec["podReplacementPolicy"].one_of("Failed", *others)
    pod_template(spec["template"], context)
    policy = spec["template"]["spec"]["restartPolicy"]
    if policy.value in (None, "", "Always"):
        policy.required('valid values: "OnFailure", "Never"')
    elif policy.value not in ("OnFailure", "Never"):
        policy.unsupported(("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy.value != "Never":
        policy.typed.invalid('only "Never" is supported when podFailurePolicy is specified')


def _check_delegation(annotations: Part, context: ValidationContext) -> None:
    """Check that the annotations that name a template of a Workload are both set, or none of them."""
    if not context.rules.delegation_annotations_are_a_pair or not any(key in annotations for key in _DELEGATION):
        return
    for key in _DELEGATION:
        value = annotations.child(f"[{key}]", annotations.get(key))
        value.require(f"must be set to a non-empty value when {' or '.join(_DELEGATION)} is set")


def _check_manager(name: Part) -> None:
    host, _, rest = name.value.partition("/")
    if not name:
        name.required()
    elif not host or not rest:
        name.invalid('must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        name.with_value(host).check(subdomain_problems)
        if not all(char.isascii() and (char.isalnum() or char in "/-._~%!$&'()*+,;=:") for char in rest):
            problem = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"
            name.invalid(problem, rest)
    if too_long(name.value, _LONGEST_MANAGER):
        name.too_long(_LONGEST_MANAGER)


def _check_indexed(spec: Part, of_cron_job: bool) -> None:
    alone = "completions" not in spec and "parallelism" not in spec
    completions = spec.at("completions", 1 if alone and not of_cron_job else None)
    parallelism, most_failed = spec.at("parallelism", 1), spec["maxFailedIndexes"]
    if not completions.given:
        completions.required(f"when completion mode is {_INDEXED}")
    if parallelism.value > _MOST_PARALLEL:
        parallelism.invalid(f"must be less than or equal to {_MOST_PARALLEL} when completion mode is {_INDEXED}")
    if most_failed.given:
        if completions.given and most_failed.value > completions.value:
            most_failed.invalid("must be less than or equal to completions")
        if most_failed.value > _MOST_PARALLEL:
            most_failed.invalid(f"must be less than or equal to {_MOST_PARALLEL}")
    if (completions.value or 0) <= _MANY_COMPLETIONS or "backoffLimitPerIndex" not in spec:
        return
    if not most_failed.given:
        most_failed.required(f"must be specified when completions is above {_MANY_COMPLETIONS}")
    problem = (
        f"must be less than or equal to {_MOST_AT_MANY} when completions are above {_MANY_COMPLETIONS} and used with "
        "backoff limit per index"
    )
    for number in (parallelism, most_failed):
        if number.given and number.value > _MOST_AT_MANY:
            number.invalid(problem)


def _check_failure_policy(rules: Part, spec: Part) -> None:
    if len(rules.value or ()) > _MOST_RULES:
        rules.too_many(_MOST_RULES)
    inner = spec["template"]["spec"]
    names = {c.get("name") for field in ("containers", "initContainers") for c in inner[field]}
    for rule in rules:
        action, codes, conditions = rule["action"], rule["onExitCodes"], rule["onPodConditions"]
        action.require(f"valid values: {_listed_values(_ACTIONS)}")
        action.nonempty.one_of(*_ACTIONS)
        if action.value == "FailIndex" and "backoffLimitPerIndex" not in spec:
            action.invalid("requires the backoffLimitPerIndex to be set")
        if codes.given:
            _check_exit_codes(codes, names)
        if len(conditions.value or ()) > _MOST_RULES:
            conditions.too_many(_MOST_RULES)
        for pattern in conditions:
            pattern.at("type", "").check(qualified_name_problems)
            pattern["status"].nonempty.one_of("False", "True", "Unknown")
        if codes.given and conditions:
            rule.invalid("specifying both OnExitCodes and OnPodConditions is not supported", OMITTED)
        if not codes.given and not conditions:
            rule.invalid("specifying one of OnExitCodes and OnPodConditions is required", OMITTED)


def _check_exit_codes(codes: Part, names: Collection[str]) -> None:
    operator, container, values = codes["operator"], codes["containerName"], codes["values"]
    operator.require(f"valid values: {_listed_values(('In', 'NotIn'))}")
    operator.nonempty.one_of("In", "NotIn")
    if container.given and container.value not in names:
        container.invalid("must be one of the container or initContainer names in the pod template")
    if not values:
        values.invalid("at least one value is required")
    elif len(values.value) > _MOST_EXIT_CODES:
        values.too_many(_MOST_EXIT_CODES)
    seen: set[int] = set()
    for code in values:
        if operator.value == "In" and code.value == 0:
            code.invalid("must not be 0 for the In operator")
        if code.value in seen:
            code.duplicate()
        seen.add(code.value)
    if any(before > after for before, after in pairwise(values.value or ())):
        values.invalid("must be ordered")


def _check_success_policy(policy: Part, mode: str, completions: int) -> None:
    rules = policy["rules"]
    if mode != _INDEXED:
        policy.invalid("requires indexed completion mode", in_go("SuccessPolicy", policy.value))
        return
    rules.require("at least one rules must be specified when the successPolicy is specified")
    if len(rules.value or ()) > _MOST_RULES:
        rules.too_many(_MOST_RULES)
    for rule in rules:
        indexes, count = rule["succeededIndexes"], rule["succeededCount"]
        if not indexes.given and not count.given:
            rule.required("at least one of succeededCount or succeededIndexes must be specified")
        total = _count_checked_indexes(indexes, completions) if indexes.given else completions
        count.not_negative()
        if count.given and count.value > completions:
            count.invalid(f"must be less than or equal to {completions} (the number of specified completions)")
        if count.given and indexes.given and count.value > total:
            which = "the number of indexes in the specified succeededIndexes field"
            count.invalid(f"must be less than or equal to {total} ({which})")


def _count_checked_indexes(indexes: Part, completions: int) -> int:
    if too_long(indexes.value, _LONGEST_INDEXES):
        indexes.too_long(_LONGEST_INDEXES)
    try:
        return count_indexes(indexes.value, completions)
    except IndexesError as error:
        indexes.invalid(f"error parsing succeededIndexes: {error}")
        return 0


def _listed_values(values: tuple[str, ...]) -> str:
    return f"[{' '.join(map(go_quote, values))}]"

"""Validation of Jobs and CronJobs, with their completion indexes and schedules."""

import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from kschedctl.objects import field_errors
from kschedctl.objects.duration import Duration
from kschedctl.objects.field_errors import Typed, go_quote
from kschedctl.objects.names import label_problems, qualified_name_problems, subdomain_problems, too_long
from kschedctl.objects.validation.metadata import object_metadata, with_labels
from kschedctl.objects.validation.placement import label_selector, selector_in_message, selects
from kschedctl.objects.validation.values import (
    Found,
    Tree,
    ValidationContext,
    given_one_of,
    in_go,
    invalid_findings,
    not_negative,
    one_of,
    require,
    sorted_labels,
)
from kschedctl.objects.validation.workloads import pod_template

# Validation of cron schedules and time zones, with the messages of the API server's parser (robfig/cron).

_DESCRIPTORS: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY: Final = "@every "
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_MAX_INT64: Final = 2**63
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch
_MONTHS: Final = {
    name: i
    for i, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_DAYS: Final = {name: i for i, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}


class _Bounds(NamedTuple):
    """The bounds of a schedule's field, and the names of its values."""

    lowest: int
    highest: int
    names: Mapping[str, int] = {}


_FIELDS: Final = (_Bounds(0, 59), _Bounds(0, 23), _Bounds(1, 31), _Bounds(1, 12, _MONTHS), _Bounds(0, 6, _DAYS))


class _CronError(ValueError):
    """A text that is not a cron schedule."""


def schedule(text: str, path: str) -> Found:
    """Yield the problems of the schedule of a CronJob."""
    try:
        _parse_schedule(text)
    except _CronError as error:
        yield field_errors.invalid(path, text, str(error))
    if "TZ" in text:
        yield field_errors.invalid(path, text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")


def time_zone(name: str, path: str) -> Found:
    """Yield the problems of a time zone's name."""
    if not name:
        yield field_errors.invalid(path, Typed(name), "timeZone must be nil or non-empty string")
        return
    for part in name.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART(part):
            yield field_errors.invalid(path, Typed(name), f"unknown time zone {name}")
            return
    if name.lower() == "local":
        problem = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield field_errors.invalid(path, Typed(name), problem)
    # Go does not open files with such names.
    if ".." in name or name.startswith("/"):
        yield field_errors.invalid(path, Typed(name), "time: invalid location name")
    elif not _is_zone(name):
        yield field_errors.invalid(path, Typed(name), f"unknown time zone {name}")


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
            raise _CronError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        zone = zone.partition("=")[2]
        if not _is_zone(zone):
            raise _CronError(f"provided bad location {zone}: unknown time zone {zone}")
        text = rest.strip()
    if text.startswith("@"):
        _descriptor(text)
        return
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise _CronError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, field.split(",")):
            _range(expression, bounds)


def _descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise _CronError(f"unrecognized descriptor: {text}")
    try:
        Duration.parse(text.removeprefix(_EVERY))
    except ValueError as error:
        raise _CronError(f"failed to parse duration {text}: {error}") from None


def _range(expression: str, bounds: _Bounds) -> None:
    parts = expression.split("/")
    limits = parts[0].split("-")
    if limits[0] in ("*", "?"):
        start, end = bounds.lowest, bounds.highest
    else:
        start = end = _parsed_number(limits[0], bounds.names)
        if len(limits) == 2:
            end = _parsed_number(limits[1], bounds.names)
        elif len(limits) > 2:
            raise _CronError(f"too many hyphens: {expression}")
    step = 1
    if len(parts) == 2:
        step = _parsed_number(parts[1], {})
        # "N/STEP" extends to the highest value.
        end = bounds.highest if len(limits) == 1 else end
    elif len(parts) > 2:
        raise _CronError(f"too many slashes: {expression}")
    if start < bounds.lowest:
        raise _CronError(f"beginning of range ({start}) below minimum ({bounds.lowest}): {expression}")
    if end > bounds.highest:
        raise _CronError(f"end of range ({end}) above maximum ({bounds.highest}): {expression}")
    if start > end:
        raise _CronError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if not step:
        raise _CronError(f"step of range should be a positive number: {expression}")


def _parsed_number(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    if not _INTEGER(text):
        why = f"strconv.Atoi: parsing {field_errors.go_quote(text)}: invalid syntax"
        raise _CronError(f"failed to parse int from {text}: {why}")
    number = int(text) if len(text) < 100 else _MAX_INT64
    if not -_MAX_INT64 <= number < _MAX_INT64:
        why = f"strconv.Atoi: parsing {field_errors.go_quote(text)}: value out of range"
        raise _CronError(f"failed to parse int from {text}: {why}")
    if number < 0:
        raise _CronError(f"negative number ({number}) not allowed: {text}")
    return number


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
        first, end = _interval(part, completions)
        if last is not None and last >= first:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def _interval(part: str, completions: int) -> tuple[int, int]:
    limits = part.split("-")
    if len(limits) > 2:
        problem = f"the fragment {go_quote(part)} violates the requirement that an index interval can have at most"
        raise IndexesError(f"{problem} two parts separated by '-'")
    first = _parsed_index(limits[0], completions)
    if len(limits) == 1:
        return first, first
    end = _parsed_index(limits[1], completions)
    if first >= end:
        raise IndexesError(f"non-increasing order, previous: {first}, current: {end}")
    return first, end


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
_STATUSES: Final = ("False", "True", "Unknown")
#: A stand-in for the uid of the new Job.
_UID: Final = "00000000-0000-0000-0000-000000000000"
_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")


def job(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a Job."""
    metadata = tree.get("metadata", {})
    spec = dict(tree.get("spec", {}))
    name = metadata.get("name", "")
    generated = [] if spec.get("manualSelector", False) else list(_generated(spec, name))
    own = tree.get("spec", {}).get("template", {}).get("metadata", {}).get("labels")
    if own is not None and not metadata.get("labels"):
        # An API server makes both label maps one object, so the generated labels are in both.
        metadata = with_labels(metadata, spec["template"]["metadata"]["labels"])
    yield from object_metadata(metadata, subdomain_problems, namespaced=True)
    yield from generated
    yield from job_spec(spec, "spec", context)
    selector = spec.get("selector")
    if selector is None:
        yield field_errors.required("spec.selector")
    else:
        yield from label_selector(selector, "spec.selector")
    own = spec.get("template", {}).get("metadata", {}).get("labels")
    if selects(selector, own or {}) is False:
        problem = "`selector` does not match template `labels`"
        yield field_errors.invalid("spec.template.metadata.labels", sorted_labels(own), problem)
    completions = spec.get("completions", 0)
    if spec.get("completionMode") == _INDEXED and completions > 0:
        host = f"{name}-{completions - 1}"
        if label_problems(host):
            problem = f"will not able to create pod with invalid DNS label: {host}"
            yield field_errors.invalid("metadata.name", name, problem)


def _generated(spec: Tree, name: str) -> Found:
    """Set the generated selector and labels in a Job's spec, and yield the problems of conflicting values."""
    template = dict(spec.get("template", {}))
    metadata = dict(template.get("metadata", {}))
    own = dict(metadata.get("labels", {}))
    wanted = dict.fromkeys(_NAME_LABELS, name) | dict.fromkeys(_UID_LABELS, _UID)
    for key, value in wanted.items():
        own.setdefault(key, value)
    metadata["labels"] = own
    template["metadata"] = metadata
    spec["template"] = template
    selector = dict(spec.get("selector", {}))
    selector["matchLabels"] = {_UID_LABELS[1]: _UID} | selector.get("matchLabels", {})
    spec["selector"] = selector
    at = "spec.template.metadata"
    for key in (_UID_LABELS[0], _NAME_LABELS[0], _UID_LABELS[1], _NAME_LABELS[1]):
        if own[key] != wanted[key]:
            yield field_errors.invalid(f"{at}.labels[{key}]", sorted_labels(own), f"must be '{wanted[key]}'")
    if selects(selector, wanted) is False:
        yield field_errors.invalid("spec.selector", selector_in_message(selector), "`selector` not auto-generated")


def cron_job(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a CronJob."""
    metadata, spec = tree.get("metadata", {}), tree.get("spec", {})
    yield from object_metadata(metadata, subdomain_problems, namespaced=True)
    if not spec.get("schedule"):
        yield field_errors.required("spec.schedule")
    else:
        yield from schedule(spec["schedule"], "spec.schedule")
    yield from not_negative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds")
    if "timeZone" in spec:
        yield from time_zone(spec["timeZone"], "spec.timeZone")
    policy = spec.get("concurrencyPolicy") or "Allow"
    yield from given_one_of(policy, ("Allow", "Forbid", "Replace"), "spec.concurrencyPolicy")
    inner, at = spec.get("jobTemplate", {}).get("spec", {}), "spec.jobTemplate.spec"
    yield from job_spec(inner, at, context, of_cron_job=True)
    if "selector" in inner:
        yield field_errors.invalid(
            f"{at}.selector", selector_in_message(inner["selector"]), "`selector` will be auto-generated"
        )
    if inner.get("manualSelector"):
        yield field_errors.unsupported(f"{at}.manualSelector", True, ("nil", "false"))
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from not_negative(spec.get(name), f"spec.{name}")
    name = metadata.get("name", "")
    if too_long(name, _LONGEST_CRON_JOB):
        yield field_errors.invalid("metadata.name", name, "must be no more than 52 characters")


def job_spec(spec: Tree, path: str, context: ValidationContext, *, of_cron_job: bool = False) -> Found:
    """Yield the problems of a Job's spec.

    Args:
        of_cron_job: True for the spec in a CronJob, whose defaults are set only when its Jobs are created.
    """
    for name in _NUMBERS:
        yield from not_negative(spec.get(name), f"{path}.{name}")
    per_index, most_failed = spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes")
    yield from not_negative(most_failed, f"{path}.maxFailedIndexes")
    if most_failed is not None and per_index is None:
        yield field_errors.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if "managedBy" in spec and context.on("JobManagedBy"):
        yield from _managed_by(spec["managedBy"], f"{path}.managedBy")
    mode = spec.get("completionMode", _NON_INDEXED)
    yield from one_of(mode, (_NON_INDEXED, _INDEXED), f"{path}.completionMode")
    if mode == _INDEXED:
        yield from _indexed(spec, path, of_cron_job)
    elif mode == _NON_INDEXED:
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if name in spec:
                yield field_errors.invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")
    if "podFailurePolicy" in spec:
        yield from _failure_policy(spec, f"{path}.podFailurePolicy")
    if "successPolicy" in spec:
        yield from _success_policy(spec, mode, f"{path}.successPolicy")
    if "podReplacementPolicy" in spec:
        known = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
        yield from one_of(spec["podReplacementPolicy"], known, f"{path}.podReplacementPolicy")
    yield from pod_template(spec.get("template", {}), f"{path}.template", context)
    yield from _restart_policy(spec, f"{path}.template.spec.restartPolicy")


def _restart_policy(spec: Tree, path: str) -> Found:
    policy = spec.get("template", {}).get("spec", {}).get("restartPolicy") or "Always"
    if policy == "Always":
        yield field_errors.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield field_errors.unsupported(path, policy, ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy != "Never":
        problem = 'only "Never" is supported when podFailurePolicy is specified'
        yield field_errors.invalid(path, field_errors.Typed(policy), problem)


def _managed_by(name: str, path: str) -> Found:
    host, _, rest = name.partition("/")
    if not name:
        yield field_errors.required(path)
    elif not host or not rest:
        yield field_errors.invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from invalid_findings(subdomain_problems(host), host, path)
        if not all(char.isascii() and (char.isalnum() or char in "/-._~%!$&'()*+,;=:") for char in rest):
            problem = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"
            yield field_errors.invalid(path, rest, problem)
    if too_long(name, _LONGEST_MANAGER):
        yield field_errors.too_long(path, _LONGEST_MANAGER)


def _indexed(spec: Tree, path: str, of_cron_job: bool) -> Found:
    alone = "completions" not in spec and "parallelism" not in spec
    completions = spec.get("completions", 1 if alone and not of_cron_job else None)
    parallelism = spec.get("parallelism", 1)
    most_failed = spec.get("maxFailedIndexes")
    if completions is None:
        yield field_errors.required(f"{path}.completions", f"when completion mode is {_INDEXED}")
    if parallelism > _MOST_PARALLEL:
        problem = f"must be less than or equal to {_MOST_PARALLEL} when completion mode is {_INDEXED}"
        yield field_errors.invalid(f"{path}.parallelism", parallelism, problem)
    at = f"{path}.maxFailedIndexes"
    if most_failed is not None:
        if completions is not None and most_failed > completions:
            yield field_errors.invalid(at, most_failed, "must be less than or equal to completions")
        if most_failed > _MOST_PARALLEL:
            yield field_errors.invalid(at, most_failed, f"must be less than or equal to {_MOST_PARALLEL}")
    if (completions or 0) <= _MANY_COMPLETIONS or "backoffLimitPerIndex" not in spec:
        return
    if most_failed is None:
        yield field_errors.required(at, f"must be specified when completions is above {_MANY_COMPLETIONS}")
    problem = (
        f"must be less than or equal to {_MOST_AT_MANY} when completions are above {_MANY_COMPLETIONS} and used with "
        "backoff limit per index"
    )
    if parallelism > _MOST_AT_MANY:
        yield field_errors.invalid(f"{path}.parallelism", parallelism, problem)
    if most_failed is not None and most_failed > _MOST_AT_MANY:
        yield field_errors.invalid(at, most_failed, problem)


def _failure_policy(spec: Tree, path: str) -> Found:
    rules = spec["podFailurePolicy"].get("rules", ())
    if len(rules) > _MOST_RULES:
        yield field_errors.too_many(f"{path}.rules", len(rules), _MOST_RULES)
    inner = spec.get("template", {}).get("spec", {})
    names = {c.get("name", "") for field in ("containers", "initContainers") for c in inner.get(field, ())}
    for i, rule in enumerate(rules):
        at = f"{path}.rules[{i}]"
        action = rule.get("action", "")
        if not action:
            yield field_errors.required(f"{at}.action", f"valid values: {_listed_values(_ACTIONS)}")
        elif action == "FailIndex" and "backoffLimitPerIndex" not in spec:
            yield field_errors.invalid(f"{at}.action", action, "requires the backoffLimitPerIndex to be set")
        else:
            yield from one_of(action, _ACTIONS, f"{at}.action")
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions", ())
        if codes is not None:
            yield from _exit_codes(codes, names, f"{at}.onExitCodes")
        if conditions:
            yield from _conditions(conditions, f"{at}.onPodConditions")
        if codes is not None and conditions:
            problem = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield field_errors.invalid(at, field_errors.OMITTED, problem)
        if codes is None and not conditions:
            problem = "specifying one of OnExitCodes and OnPodConditions is required"
            yield field_errors.invalid(at, field_errors.OMITTED, problem)


def _exit_codes(codes: Tree, names: Collection[str], path: str) -> Found:
    operator, values = codes.get("operator", ""), codes.get("values", [])
    if not operator:
        yield field_errors.required(f"{path}.operator", f"valid values: {_listed_values(('In', 'NotIn'))}")
    else:
        yield from one_of(operator, ("In", "NotIn"), f"{path}.operator")
    if "containerName" in codes and codes["containerName"] not in names:
        problem = "must be one of the container or initContainer names in the pod template"
        yield field_errors.invalid(f"{path}.containerName", codes["containerName"], problem)
    if not values:
        yield field_errors.invalid(f"{path}.values", codes.get("values"), "at least one value is required")
    elif len(values) > _MOST_EXIT_CODES:
        yield field_errors.too_many(f"{path}.values", len(values), _MOST_EXIT_CODES)
    seen: set[int] = set()
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            yield field_errors.invalid(f"{path}.values[{i}]", value, "must not be 0 for the In operator")
        if value in seen:
            yield field_errors.duplicate(f"{path}.values[{i}]", value)
        seen.add(value)
    if any(before > after for before, after in pairwise(values)):
        yield field_errors.invalid(f"{path}.values", values, "must be ordered")


def _conditions(conditions: list[Tree], path: str) -> Found:
    if len(conditions) > _MOST_RULES:
        yield field_errors.too_many(path, len(conditions), _MOST_RULES)
    for i, pattern in enumerate(conditions):
        kind = pattern.get("type", "")
        yield from invalid_findings(qualified_name_problems(kind), kind, f"{path}[{i}].type")
        yield from one_of(pattern.get("status") or "True", _STATUSES, f"{path}[{i}].status")


def _success_policy(spec: Tree, mode: str, path: str) -> Found:
    policy: dict[str, Any] = spec["successPolicy"]
    if mode != _INDEXED:
        yield field_errors.invalid(path, in_go("SuccessPolicy", policy), "requires indexed completion mode")
        return
    rules, completions = policy.get("rules", ()), spec.get("completions", 1)
    problem = "at least one rules must be specified when the successPolicy is specified"
    yield from require(rules, f"{path}.rules", problem)
    if len(rules) > _MOST_RULES:
        yield field_errors.too_many(f"{path}.rules", len(rules), _MOST_RULES)
    for i, rule in enumerate(rules):
        yield from _success_rule(rule, completions, f"{path}.rules[{i}]")


def _success_rule(rule: Tree, completions: int, path: str) -> Found:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        yield field_errors.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if indexes is not None:
        at = f"{path}.succeededIndexes"
        if too_long(indexes, _LONGEST_INDEXES):
            yield field_errors.too_long(at, _LONGEST_INDEXES)
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as error:
            yield field_errors.invalid(at, indexes, f"error parsing succeededIndexes: {error}")
    if count is None:
        return
    at = f"{path}.succeededCount"
    yield from not_negative(count, at)
    if count > completions:
        problem = f"must be less than or equal to {completions} (the number of specified completions)"
        yield field_errors.invalid(at, count, problem)
    if indexes is not None and count > total:
        problem = (
            f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        )
        yield field_errors.invalid(at, count, problem)


def _listed_values(values: tuple[str, ...]) -> str:
    return f"[{' '.join(map(field_errors.go_quote, values))}]"

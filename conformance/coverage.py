"""Coverage of kube-scheduler's reasons: the reasons that occur in a set of answers, and those that never do."""

import argparse
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from conformance.builds import versions
from conformance.jsonlines import Object, read

_REASONS: Final = Path(__file__).with_name("reasons.toml")

#: Patterns of names and counts in a reason, each with its replacement; applied in this order.
_NAMES: Final = tuple(
    (re.compile(pattern, re.DOTALL), text)
    for pattern, text in (
        (r'^running "\w+" filter plugin: ', ""),
        (r"(CEL \w+ error: ).*", r"\1*"),
        (r"(range arithmetic: ).*", r"\1*"),
        (r"(gates: )\[.*\]", r"\1[*]"),
        (r"untolerated taint \{.*\}", "untolerated taint {*: *}"),
        (r'"[^"]*"', '"*"'),
        (r"on device [^:]+: CEL", "on device *: CEL"),
        (r"for device [^:]+:", "for device *:"),
        (r"^\S+ CSI driver is", "* CSI driver is"),
        (r"on node \S+, preempting \d+ victims", "on node *, preempting * victims"),
        (r"\b(PVC|ResourceClaim) \S+ was", r"\1 * was"),
        (r"\bfor (pod|Pod) \S+ \(", r"for \1 * ("),
        (r"looking up PVC \S+:", "looking up PVC *:"),
        (r"\b(request|claim|class) [\w/.-]+([:,])", r"\1 *\2"),
        (r"(Insufficient (?:\S+/|hugepages-)).*", r"\1*"),
        (r"device class \S+ does", "device class * does"),
        (r"\bpool \S+ is", "pool * is"),
        (r"device name \S+", "device name *"),
        (r"add device \S+ because", "add device * because"),
        (r"#\d+", "#*"),
        (r"devices \d+ exceeds the claim limit of \d+", "devices * exceeds the claim limit of *"),
        (r"allocations \d+ is", "allocations * is"),
        (
            r"adding \d+ devices exceeds the claim limit of \d+, with \d+",
            "adding * devices exceeds the claim limit of *, with *",
        ),
        (r"(is negative: request ).*", r"\1*"),
        (r"device \S+: unsupported attribute value for \S+", "device *: unsupported attribute value for *"),
        (r"device \S+: consumed capacity", "device *: consumed capacity"),
        (r"must not be negative, got \S+", "must not be negative, got *"),
    )
)


def shape(reason: str) -> str:
    """Return a reason with the names and numbers in it replaced by ``*``.

    Examples
    --------
    >>> shape('persistentvolumeclaim "data-1" not found')
    'persistentvolumeclaim "*" not found'
    """
    for pattern, text in _NAMES:
        reason = pattern.sub(text, reason.strip())
    return reason


def reasons(answer: Object) -> Iterator[tuple[str, str]]:
    """Yield every reason in an answer: the plugin that gives it, and its shape."""

    def of(status: dict[str, Any] | None, plugin: str = "") -> Iterator[tuple[str, str]]:
        for reason in (status or {}).get("reasons", ()):
            yield (status or {}).get("plugin") or plugin, shape(reason)

    yield from of(answer.get("preEnqueue"))
    yield from of(answer.get("preFilter"))
    for status in (answer.get("filter") or {}).values():
        yield from of(status)
    for node in (answer.get("allFilters") or {}).values():
        for plugin, status in node.items():
            yield from of(status, plugin)
    if found := re.search(
        r"node\(s\) didn't satisfy plugin\(s\) \[.*?\](?: simultaneously)?", answer.get("message", "")
    ):
        yield "", found[0]
    if answer.get("error", "").startswith("score: "):
        yield "Score", shape(answer["error"].removeprefix("score: "))
    for _, reason in of((answer.get("preemption") or {}).get("status")):
        for one in _counted(reason):
            yield "PostFilter", one


def _counted(reason: str) -> list[str]:
    """Split the text of preemption, which counts reasons over the nodes, into the reasons."""
    head, found, rest = reason.partition("nodes are available: ")
    if not found or not head.startswith("preemption: "):
        return [reason]
    return [f"preemption: {text.rstrip('.')}" for text in re.findall(r"\d+ ((?:[^,]|, (?!\d))+)", rest)]


@cache
def expected(release: str) -> frozenset[tuple[str, str]]:
    """Return the reasons that a release can give with default feature gates for objects that an API server accepts."""
    releases = list(versions())
    at = releases.index(release)
    return frozenset(
        (plugin, entry if isinstance(entry, str) else entry["reason"])
        for plugin, listed in tomllib.loads(_REASONS.read_text()).items()
        for entry in listed
        if isinstance(entry, str)
        or releases.index(entry.get("since", releases[0])) <= at <= releases.index(entry.get("until", releases[-1]))
    )


def missing(answers: Iterable[Object], release: str) -> list[tuple[str, str]]:
    """Return the reasons of a release that no answer has."""
    return sorted(expected(release) - {found for answer in answers for found in reasons(answer)})


def run(args: argparse.Namespace) -> int:
    """Print the reasons that the answers cover and those that are missing."""
    answers = [answer for path in args.files for answer in read(path)]
    lacking = missing(answers, args.release)
    if not args.missing:
        counts = Counter(found for answer in answers for found in set(reasons(answer)))
        for (plugin, reason), n in sorted(counts.items()):
            print(f"{n:6} {plugin or '-'}: {reason}")
        print(f"{len(counts)} reasons in {len(answers)} answers; {len(lacking)} of release {args.release} are missing")
    for plugin, reason in lacking:
        print(f"{'missing' if not args.missing else ''} {plugin or '-'}: {reason}".strip())
    return 1 if args.missing and lacking else 0

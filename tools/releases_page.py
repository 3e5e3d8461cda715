"""The reference section of docs/releases.md: the modelled Kubernetes releases, made from their rules."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import pairwise
from typing import Any, Final

from kschedctl.objects.releases.differences import differing_rules
from kschedctl.objects.releases.release import LATEST, PATCH_RELEASES, RELEASES, Release

#: The number of upgrades that have a table of their own.
_UPGRADES: Final = 2
#: The parts of a release's rules, in the order of the page.
_PARTS: Final[Mapping[str, Callable[[Release], Any]]] = {
    "One pod": lambda release: release,
    "Devices": lambda release: release.devices,
    "The queue and preemption": lambda release: release.queue,
    "Pod groups": lambda release: release.pod_group_rules,
    "Validation by API servers": lambda release: release.validation,
}


def reference() -> str:
    """Return the section as Markdown."""
    return "\n".join([*_upgrades(), *_plugins(), *_gates(), *_rules(), *_patch_releases()][1:])


def _upgrades() -> Iterator[str]:
    """Yield a table per upgrade to one of the newest releases: the rules that can change the decision for a pod."""
    for older, newer in reversed([*pairwise(RELEASES.values())][-_UPGRADES:]):
        yield from ("", f"## From {older.version} to {newer.version}", "")
        yield "The rules that can change the decision for a pod. `diff` names those that change one of yours:"
        yield f"`kschedctl diff -A --all-pods --kubernetes-version {older.version}..{newer.version}`."
        yield from ("", "| rule | before | after | to do |", "|---|---|---|---|")
        for rule in differing_rules(older, newer):
            cells = (rule.words.name, rule.text(0), rule.text(1), rule.words.advice)
            yield f"| {' | '.join(cell or '-' for cell in cells)} |"


def _plugins() -> Iterator[str]:
    yield from (
        "",
        "## The default profile",
        "",
        "The plugins in their order, with their weights where they score.",
        "",
    )
    weights = {version: dict(release.default_plugins) for version, release in RELEASES.items()}
    yield from _table(
        "plugin",
        {
            f"`{name}`": {version: str(of[name] or "yes") if name in of else "-" for version, of in weights.items()}
            for name in weights[LATEST.version]
        },
    )
    for version, (older, newer) in zip([*RELEASES][1:], pairwise(weights.values()), strict=True):
        common = [[name for name in one if name in other] for one, other in ((older, newer), (newer, older))]
        moved = next(((new, old) for old, new in zip(*common, strict=True) if new != old), None)
        if moved is not None:
            yield from ("", f"From {version} on, {moved[0]} comes before {moved[1]}.")


def _gates() -> Iterator[str]:
    yield from (
        "",
        "## Feature gates",
        "",
        "The gates that change decisions, with their defaults. A gate with `-` does not",
    )
    yield from ("exist in the release, or changes no decision there. `--feature-gates` sets gates.", "")
    known = {version: {**release.features, **release.queue_gates} for version, release in RELEASES.items()}
    names = sorted({name for gates in known.values() for name in gates})
    words = {True: "on", False: "off", None: "-"}
    yield from _table(
        "gate", {f"`{name}`": {version: words[gates.get(name)] for version, gates in known.items()} for name in names}
    )


def _rules() -> Iterator[str]:
    yield from ("", "## Rules that differ")
    for title, part in _PARTS.items():
        yield from ("", f"### {title}", "", *_table("rule", _differing(part)))


def _patch_releases() -> Iterator[str]:
    yield from ("", "## Patch releases", "", "The patch releases that changed rules, and these rules.", "")
    yield from ("| from | rule | before | since |", "|---|---|---|---|")
    for version, patches in PATCH_RELEASES.items():
        for (_, before), (number, since) in pairwise([(0, RELEASES[version]), *patches]):
            for part in _PARTS.values():
                old, new = part(before), part(since)
                for name in _fields(type(old)) if old is not None else ():
                    values = getattr(old, name), getattr(new, name)
                    if isinstance(values[0], bool | str) and values[0] != values[1]:
                        row = f"{version}.{number}", _sentence(type(old), name), *map(_value, values)
                        yield f"| {' | '.join(row)} |"


def _differing(part: Callable[[Release], Any]) -> dict[str, dict[str, str]]:
    """Return the rules of a part of a release that differ, in words, with their value in each release."""
    kind = type(part(LATEST))
    found = {}
    for name in _fields(kind):
        values = {version: getattr(part(release), name, None) for version, release in RELEASES.items()}
        if name != "version" and any(isinstance(value, bool | str | Enum) for value in values.values()):
            found[_sentence(kind, name)] = {version: _value(value) for version, value in values.items()}
    return {text: values for text, values in found.items() if len({*values.values()}) > 1}


def _fields(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a release, which is a dataclass, or of one of its parts, which are structs."""
    return tuple(kind.__match_args__)


def _sentence(kind: type, name: str) -> str:
    """Return the documentation of a field, without the words that introduce a condition."""
    found = re.search(rf"((?:    #: .*\n)+)    {name}:", inspect.getsource(kind))
    assert found is not None, f"{kind.__name__}.{name} is documented"
    text = " ".join(found[1].replace("#: ", "").split()).removeprefix("True if ").replace("``", "`")
    return text[:1].upper() + text[1:]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return value.name.lower().replace("_", " ")
    return f"`{value}`" if value else "-"


def _table(title: str, rows: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield a table with a row per name and a column per release."""
    yield f"| {title} | {' | '.join(RELEASES)} |"
    yield f"|---|{'---|' * len(RELEASES)}"
    yield from (f"| {name} | {' | '.join(values[version] for version in RELEASES)} |" for name, values in rows.items())

"""The reference section of docs/reasons.md: all in-tree plugins and their reasons."""

import inspect
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD
from kschedctl.scheduler.framework.interface import Plugin
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.plugins.registry import IN_TREE_PLUGINS, in_tree_registry
from tools.reason_meanings import MEANINGS, BeforeFilter, Meaning

REASONS: Final[Mapping[str, list[Any]]] = tomllib.loads(
    (Path(__file__).parents[1] / "conformance" / "reasons.toml").read_text()
)
#: Reasons that no single plugin gives: the key in ``conformance/reasons.toml``, the heading, and the text below it.
_OTHERS: Final = {
    "": ("Several PreFilter plugins", "Each plugin names the nodes that it allows, and no node is allowed by all."),
    "Score": ("Errors of Score plugins", "The scheduling cycle ends with an error."),
    "PostFilter": (
        "After Filter: preemption and claims",
        "The last part of the message of an event, after the reasons of the nodes.",
    ),
}


def reference() -> str:
    """Return the section as Markdown."""
    return "\n".join(["## Plugins", *_plugins(), *_others()])


def description(plugin: type[Plugin]) -> str:
    """Return the documentation of a plugin, without its name in front: its own, or that of its module or package."""
    own, _, _ = (inspect.getdoc(plugin) or "").rpartition("\n\nUpstream: ")
    module, package = sys.modules[plugin.__module__], sys.modules[plugin.__module__.rpartition(".")[0]]
    text = own or (package if module.__name__.endswith(".plugin") else module).__doc__ or ""
    text = text.strip().removeprefix(f"{plugin.name}: ").replace("``", "`")
    return text[:1].upper() + text[1:]


def cures(operands: type[Operands]) -> str:
    """Return the cures that the operands of a reason propose, in one sentence; empty if there are none."""
    return "" if operands.remedies is Operands.remedies else _proposal(operands.remedies.__doc__)


def releases(entry: Any) -> str:
    """Return the releases that give a reason, in words; empty if all do."""
    if isinstance(entry, str):
        return ""
    since, until = entry.get("since"), entry.get("until")
    if since and until:
        return f" ({since})" if since == until else f" ({since} to {until})"
    return f" (since {since})" if since else f" (until {until})"


def _plugins() -> Iterator[str]:
    gates = dict.fromkeys((GENERIC_WORKLOAD, *LATEST.gate_dependencies), True)
    release = LATEST.with_features(gates)
    points = in_tree_registry().extension_points(release)
    weights = dict(release.default_plugins)
    for name, plugin in IN_TREE_PLUGINS.items():
        yield from ("", f"### {name}", "", description(plugin), "")
        weight = f" Its weight in the default profile is {weights[name]}." if weights.get(name) else ""
        yield f"Extension points: {', '.join(f'`{point}`' for point in sorted(map(str, points[name])))}.{weight}"
        own = "" if plugin.remedies is Plugin.remedies else _proposal(plugin.remedies.__doc__)
        yield from _reasons(name, own)


def _others() -> Iterator[str]:
    yield from ("", "## Other reasons")
    for key, (title, text) in _OTHERS.items():
        yield from ("", f"### {title}", "", text, *_reasons(key, ""))


def _reasons(plugin: str, own_cures: str) -> Iterator[str]:
    """Yield the table of a plugin's reasons; ``own_cures`` help against those that have no operands."""
    notes = {entry if isinstance(entry, str) else entry["reason"]: releases(entry) for entry in REASONS.get(plugin, ())}
    if plugin not in MEANINGS:
        yield from ("", "It rejects no pod.")
        return
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for reason, meaning in MEANINGS[plugin].items():
        rows[_meaning(meaning), _cures(meaning, own_cures)].append(f"`{reason}`{notes.get(reason, '')}")
    yield from ("", "| reason | meaning | cures that are tried |", "|---|---|---|")
    yield from (f"| {'<br>'.join(reasons)} | {text} | {tried} |" for (text, tried), reasons in rows.items())


def _meaning(meaning: Meaning) -> str:
    if isinstance(meaning, str | BeforeFilter):
        return meaning if isinstance(meaning, str) else meaning.text
    return _joined(((operands.__doc__ or "").partition("\n")[0] for operands in meaning), " Or: ").replace("``", "`")


def _cures(meaning: Meaning, own_cures: str) -> str:
    if isinstance(meaning, str | BeforeFilter):
        return own_cures if isinstance(meaning, BeforeFilter) and own_cures else "-"
    return _joined(filter(None, map(cures, meaning)), " ").replace("``", "`") or "-"


def _proposal(docstring: str | None) -> str:
    """Return the first line of a docstring, ``Propose to do this, or to do that.``, as an instruction."""
    text = (docstring or "").partition("\n")[0].removeprefix("Propose to ").replace(", or to ", ", or ")
    return (text[:1].upper() + text[1:]).replace(", to ", ", ")


def _joined(texts: Iterable[str], separator: str) -> str:
    return separator.join(dict.fromkeys(texts))

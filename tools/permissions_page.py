"""The reference section of docs/permissions.md: the ClusterRole for reading, made from the kinds that are listed."""

from collections.abc import Iterator

from kschedctl.objects.kinds import KINDS, LISTED_KINDS, plural
from kschedctl.trials.completeness import ADDITIONS, TABLE, UNHEARD, Part


def reference() -> str:
    """Return the section as Markdown."""
    return "\n".join([*_role(), *_consequences()])


def _role() -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for group, kind in LISTED_KINDS:
        groups.setdefault(group, []).append(plural(kind.lower()))
    yield from (
        "## The role",
        "",
        "```yaml",
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRole",
        "metadata:",
        "  name: kschedctl-read",
        "rules:",
    )
    for group, resources in groups.items():
        yield f'- apiGroups: ["{group}"]'
        yield "  resources:"
        yield from (f"  - {resource}" for resource in resources)
        yield "  verbs: [list]"
    yield "```"


def _consequences() -> Iterator[str]:
    yield from (
        "",
        "## Without a permission",
        "",
        "If a kind cannot be listed, answers that depend on it are not known; what follows is computed as the last",
        "column says. Parts in italics only add to an answer: without them it is incomplete.",
        "",
        "| resource | for | computed without it |",
        "|---|---|---|",
    )
    for kind, parts in TABLE.items():
        consequences: dict[str, list[str]] = {}
        for part, consequence in parts.items():
            consequences.setdefault(consequence, []).append(f"*{part}*" if part in ADDITIONS else str(part))
        for consequence, names in consequences.items():
            yield f"| `{plural(kind.lower())}` | {'; '.join(names)} | {consequence} |"
    yield f"| `events`, and kinds of other projects | *{Part.EVIDENCE}* | {UNHEARD} |"
    others = [f"`{plural(kind.lower())}`" for _, kind in KINDS if kind not in TABLE]
    yield from (
        "",
        f"The other resources are read only for commands that name one of their objects: {', '.join(others)}.",
    )

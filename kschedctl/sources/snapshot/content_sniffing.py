"""Recognition of skipped files and invalid values that were probably meant to be part of a cluster."""

import binascii
import re
import zlib
from collections.abc import Hashable, Iterator
from typing import Any, Final

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Finding, Position
from kschedctl.common.text.characters import utf8_text
from kschedctl.common.text.patterns import pattern
from kschedctl.objects.kinds import KINDS, kind_by_name
from kschedctl.sources.snapshot.names import IS_ONE, MARKDOWN, OTHER_NAME
from kschedctl.sources.snapshot.path_kinds import kind_of_path
from kschedctl.sources.snapshot.summary import SkippedFile

GZIP_MAGIC: Final = b"\x1f\x8b"
ZIP_MAGICS: Final = (b"PK\x03\x04", b"PK\x05\x06")
_TAR_MAGIC: Final = b"ustar"
_TAR_MAGIC_AT: Final = 257
#: The number of bytes that are inspected to recognise objects or an archive.
HEAD: Final = 16 * 1024
_ANY_GZIP: Final = 31
#: The number of values of a document that are searched for objects.
_MOST_VALUES: Final = 10_000
_BASE64: Final = pattern(rb"[A-Za-z0-9+/\s]{32,}+={0,2}\s*")
#: The first line of a fenced code block of Markdown.
_FENCE: Final = pattern(rb"^[ \t]*(?:```|~~~)[^\n]*\n", re.MULTILINE)

#: The fields of an export of kube-scheduler-simulator, one of which every export has.
_EXPORTED: Final = frozenset({"nodes", "pods"})

_GROUPS: Final = frozenset(group for group, _ in KINDS) | {"extensions"}
_KIND_WORDS: Final = frozenset(
    word for _, kind in KINDS for word in (kind.lower().encode(), f"{kind.lower()}list".encode())
) | {b"list"}
_JSON_KIND: Final = pattern(rb'"kind"\s*:\s*"(\w+)"')
_JSON_LISTS: Final = pattern(rb'\s*\{\s*"(?:nodes|pods|items|kschedctlVersion)"\s*:')
_YAML_KIND: Final = pattern(rb"""^(?:- |  )?["']?kind["']?[ \t]*:[ \t]*["']?(\w+)""", re.MULTILINE)
#: The first significant line of YAML: a key, or an item that begins with one.
_YAML_BEGINNING: Final = pattern(
    rb"""(?:\s++|#[^\n]*+\n|%[^\n]*+\n|---[^\n]*+\n)*+(?:- )?["']?[\w./-]++["']?[ \t]*+:(?:\s|$)"""
)


def is_tar(head: bytes) -> bool:
    """Report whether the first bytes of a file are those of a tar archive."""
    return head[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC)


def unzipped_head(head: bytes) -> bytes:
    """Return the beginning of gzip data, decompressed; return other or broken data unchanged."""
    if not head.startswith(GZIP_MAGIC):
        return head
    try:
        return zlib.decompressobj(_ANY_GZIP).decompress(head, HEAD)
    except zlib.error:
        return head


def seems_cluster(head: bytes) -> bool:
    r"""Report whether a file with these first bytes contains objects that scheduling depends on, or is an archive.

    Args:
        head: The first ``HEAD`` bytes of the file, not decompressed.

    >>> seems_cluster(b"apiVersion: v1\nkind: Pod\n"), seems_cluster(b"==== START logs\nkind: Pod\n")
    (True, False)
    """
    head = unzipped_head(head)
    return is_tar(head) or _begins_object(head) or _begins_object(_from_base64(head))


def passed_file(name: str, reason: str, head: bytes, identity: Hashable = None) -> SkippedFile:
    """Return a file that is skipped for its name or place, as part of the cluster if its first bytes look like it."""
    if reason == OTHER_NAME and has_object_block(head):
        return SkippedFile(name, MARKDOWN, True, identity)
    return SkippedFile(name, reason, reason in IS_ONE or seems_cluster(head), identity)


def has_object_block(head: bytes) -> bool:
    r"""Report whether a Markdown text with these first bytes has a code block with objects that scheduling depends on.

    >>> has_object_block(b"# Pods\n```yaml\napiVersion: v1\nkind: Pod\n```\n"), has_object_block(b"kind: Pod")
    (True, False)
    """
    return any(_begins_object(block) for block in _FENCE.split(head)[1:])


def _begins_object(head: bytes) -> bool:
    try:
        text = utf8_text(head[: len(head) // 2 * 2], "").lstrip()
    except InputError:
        return False
    if text.startswith((b"{", b"[")):
        found = _JSON_KIND.search(text)
        return _JSON_LISTS.match(text) is not None or _is_known(found, text)
    return _YAML_BEGINNING.match(text) is not None and _is_known(_YAML_KIND.search(text), text)


def _from_base64(head: bytes) -> bytes:
    """Return the text that base64 encodes; empty for any other text."""
    if _BASE64.fullmatch(head) is None:
        return b""
    digits = b"".join(head.split())
    try:
        return unzipped_head(binascii.a2b_base64(digits[: len(digits) // 4 * 4]))
    except binascii.Error:
        return b""


def _is_known(kind: re.Match[bytes] | None, text: bytes) -> bool:
    # Logs and audit events contain kinds too, so only the first one counts.
    return kind is not None and kind[1].lower() in _KIND_WORDS and b"apiVersion" in text


def seems_object(value: Any) -> bool:
    """Report whether a JSON value that is not a Kubernetes object was probably meant as one or as a list of them.

    >>> seems_object([{"kind": "Pod"}]), seems_object({"metadata": {"name": "web"}}), seems_object({"replicas": 2})
    (True, True, False)
    >>> seems_object({"type": "ADDED", "object": {"apiVersion": "v1", "kind": "Pod"}})
    True
    >>> seems_object('{"apiVersion": "v1", "kind": "Pod"}'), seems_object({"pods": 77})
    (True, True)
    """
    if isinstance(value, dict) and not _EXPORTED.isdisjoint(value):
        return True
    return any(map(_has_name_or_kind, _top_objects(value))) or _contains_object(value)


def _top_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield a value, its elements if it is a list, and its items if it has any; objects only."""
    for each in value if isinstance(value, list) else (value,):
        if isinstance(each, dict):
            yield each
            items = each.get("items")
            yield from (item for item in items if isinstance(item, dict)) if isinstance(items, list) else ()


def _has_name_or_kind(value: dict[str, Any]) -> bool:
    kind, metadata = value.get("kind"), value.get("metadata")
    if isinstance(kind, str) and kind.lower().encode() in _KIND_WORDS:
        return True
    return isinstance(metadata, dict) and ("name" in metadata or "generateName" in metadata)


def is_without_kind(value: Any) -> bool:
    """Report whether a JSON value is an object, or a list of objects, with a name and without a kind.

    >>> is_without_kind([{"metadata": {"name": "web"}}]), is_without_kind({"kind": "Pod"}), is_without_kind({"pods": 7})
    (True, False, False)
    """
    return any(_has_name_or_kind(each) and not each.get("kind") for each in _top_objects(value))


def _contains_object(value: Any) -> bool:
    """Report whether there is a whole object at any depth, also as text: a watch event, or items under another key."""
    waiting = [value]
    for _ in range(_MOST_VALUES):
        if not waiting:
            break
        here = waiting.pop()
        if isinstance(here, dict):
            kind = here.get("kind")
            if isinstance(kind, str) and "apiVersion" in here and kind.lower().encode() in _KIND_WORDS:
                return True
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here
        elif isinstance(here, str) and seems_cluster(here[:HEAD].encode(errors="replace")):
            return True
    return False


#: The beginnings of documents in a text that cannot be parsed.
_DOCUMENTS: Final = pattern(rb"^(?=---|\{|\[)", re.MULTILINE)
#: The beginning of an object without kind, or of a list of them.
_METADATA: Final = pattern(rb"""\s*(?:\[\s*)?(?:\{\s*"(?:metadata|items)"\s*:|(?:- )?(?:metadata|items):)""")


def was_meant(content: bytes, path: str) -> bool:
    r"""Report whether a file that cannot be parsed was meant as objects that scheduling depends on.

    Its text says so, or its path: the name of a kind, or an object without kind in the folder of a kind.

    >>> was_meant(b"kind: Pod\napiVersion: v1\nspec: {", "a.yaml"), was_meant(b"\0", "pods.json")
    (True, True)
    >>> was_meant(b"{", "a.json")
    False
    """
    if any(map(_begins_object, _DOCUMENTS.split(content))):
        return True
    by_name = kind_of_path(path.rpartition("/")[2]) is not None
    return by_name or (_METADATA.match(content) is not None and kind_of_path(path) is not None)


def meant_kind(api_version: str, kind: str) -> str:
    """Return the kind that was probably meant by an unknown one; empty if it may be a custom resource.

    Args:
        api_version: The version, such as ``core/v1``.
        kind: The kind, such as ``pod``.

    >>> meant_kind("v1", "pod"), meant_kind("core/v1", "Pod"), meant_kind("serving.knative.dev/v1", "Service")
    ('Pod (v1)', 'Pod (v1)', '')
    """
    group = api_version.rpartition("/")[0]
    # The group of a custom resource has a dot.
    if "." in group and group not in _GROUPS:
        return ""
    lower = kind.lower()
    type_ = kind_by_name(kind) or kind_by_name(lower.removesuffix("list"))
    group, kind = next((key for key, each in KINDS.items() if each is type_), ("", ""))
    return f"{kind} ({f'{group}/' if group else ''}v1)" if kind else ""


# Detection of Helm templates, which look like manifests but are not valid before they are rendered.

#: The beginning of a template action: a field, a variable, a comment or a keyword that charts use.
_ACTION: Final = pattern(
    rb"\{\{-?\s*(?:[.$]|/\*|(?:if|with|range|define|block|else|end|include|template|tpl|toYaml|printf|default|quote)\b)"
)
BRACES: Final = "{{"


def unrendered(content: bytes, file: str) -> Finding | None:
    """Return the finding for an unreadable file that is a Helm template; ``None`` if it is not a template.

    >>> print(unrendered(b"name: {{ .Release.Name }}", "deployment.yaml"))
    deployment.yaml: line 1, column 7: is a Helm template: {{ ... }} is not filled in yet
      render it first: helm template CHART | kschedctl explain -
    """
    action = _ACTION.search(content)
    if action is None:
        return None
    begin = content.rfind(b"\n", 0, action.start()) + 1
    column = len(content[begin : action.start()].decode(errors="replace")) + 1
    return Finding(
        "is a Helm template: {{ ... }} is not filled in yet",
        hint="render it first: helm template CHART | kschedctl explain -",
        place=file,
        position=Position(content.count(b"\n", 0, action.start()) + 1, column),
    )


# Detection of what kubectl prints for people, which lacks the fields that scheduling reads.

_COLUMN: Final = rb"[A-Z][A-Z_%/-]*(?:\([A-Za-z]+\))?(?: [A-Z]+)*"
_AGAIN: Final = "use -o yaml"
#: The beginnings of such texts, the name of each, and the remedy.
_PRINTED: Final = (
    (
        pattern(rb"\s*(?:NAME *\r?\n|" + _COLUMN + rb"(?: {2,}" + _COLUMN + rb")+ *\r?(?:\n|\Z))"),
        "is a table that kubectl prints",
        f"{_AGAIN}, which has the fields that scheduling reads",
    ),
    (
        pattern(rb"\s*(?:[\w.-]+ +)?[\w./-]+ {2,}(?:[0-9]+/[0-9]+ +[A-Z0-9]|(?:Not)?Ready[, ])"),
        "is a table that kubectl prints",
        f"{_AGAIN}, which has the fields that scheduling reads",
    ),
    (
        pattern(rb"\s*Name:(?:\t+| {2,})\S+[ \t]*\r?\n[A-Z][\w() -]*:"),
        "is what kubectl describe prints",
        "use kubectl get with -o yaml, which has the fields that scheduling reads",
    ),
    (
        pattern(rb"\s*(?:[a-z]+(?:\.[a-z0-9.-]+)?/[a-z0-9][a-z0-9.-]*[ \t]*\r?\n)+\S*\s*\Z"),
        "has names alone, as kubectl prints them with -o name",
        f"{_AGAIN} in place of -o name",
    ),
    (
        pattern(
            rb"\s*(?:error: |Error from server|No resources found|Unable to connect to the server|The connection to)"
        ),
        "is a message of kubectl in place of objects",
        "repair what the message says, and run the command with -o yaml again",
    ),
)
_BLOCK_BEGINNING: Final = pattern(rb"\s*(?:```|~~~)")


def printed(content: bytes, file: str) -> Finding | None:
    r"""Return the finding for a text without objects that kubectl, or Markdown, has for people; ``None`` for any other.

    >>> print(printed(b"NAME    READY   STATUS\nweb-7   0/1     Pending\n", "pods.txt"))
    pods.txt: is a table that kubectl prints
      use -o yaml, which has the fields that scheduling reads
    >>> print(printed(b"```yaml\nkind: Pod\n```\n", "web.md"))
    web.md: has its YAML in a fenced block of Markdown
      give the lines between the fences alone, or what kubectl get with -o yaml prints
    """
    try:
        text = utf8_text(content[:HEAD], "")
    except InputError:
        return None
    for beginning, problem, hint in _PRINTED:
        if beginning.match(text) is not None:
            return Finding(problem, hint=hint, place=file)
    if _BLOCK_BEGINNING.match(text) is not None or has_object_block(text):
        hint = "give the lines between the fences alone, or what kubectl get with -o yaml prints"
        return Finding("has its YAML in a fenced block of Markdown", hint=hint, place=file)
    return None

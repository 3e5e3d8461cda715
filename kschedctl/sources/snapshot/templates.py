"""Detection of Helm templates, which look like manifests but are not valid before they are rendered."""

from __future__ import annotations

import re
from typing import Final

from kschedctl.common.findings import Finding, Position

#: The beginning of a template action: a field, a variable, a comment or a keyword that charts use.
_ACTION: Final = re.compile(
    rb"\{\{-?\s*(?:[.$]|/\*|(?:if|with|range|define|block|else|end|include|template|tpl|toYaml|printf|default|quote)\b)"
)
BRACES: Final = "{{"


def unrendered(content: bytes, file: str) -> Finding | None:
    """Return the finding for an unreadable file that is a Helm template; ``None`` if it is not a template.

    Examples
    --------
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

"""The analysis behind ``lint``: it reads manifests and finds their problems."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Final

from kschedctl.common.errors import InputError
from kschedctl.common.wording import listed
from kschedctl.linter.run import LintRequest, LintResult
from kschedctl.linter.run import lint as lint_paths
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.sources.snapshot.files import STDIN, open_stdin

#: The rules whose findings explain why nothing else was found.
_NO_OBJECTS: Final = ("KS901", "KS912")
_TEMPLATES: Final = "KS902"


def lint(
    paths: Sequence[str], request: LintRequest, handle: AnalysisHandle, *, allow_empty: bool = False
) -> LintResult:
    """Check manifests.

    Parameters
    ----------
    paths : sequence of str
        Files, folders and archives; ``-`` is standard input.
    allow_empty : bool
        False to refuse paths with no Kubernetes object.

    Raises
    ------
    InputError
        If a path cannot be read, or no object is found and ``allow_empty`` is false.
    """
    with handle.busy("rendering kustomizations and charts") if request.render else nullcontext():
        linted = lint_paths(paths, request, open_stdin() if STDIN in paths else None)
    for what in linted.unread:
        handle.warn(what)
    if not (linted.n_objects or allow_empty or any(each.rule.code in _NO_OBJECTS for each in linted.found)):
        templates = next((each for each in linted.found if each.rule.code == _TEMPLATES), None)
        hint = templates.help if templates is not None else "use --allow-empty to accept this"
        if linted.no_manifests and templates is None:
            first = linted.no_manifests[0]
            assert first.broken is not None
            hint = f"{first.file.name} cannot be read: {first.broken.problem}; {hint}"
        if linted.excluded:
            hint = f"left out: {linted.left_out}; {hint}"
        raise InputError("no Kubernetes object is found", where=listed(list(paths)), hint=hint)
    return linted

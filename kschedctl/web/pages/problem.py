"""The page that shows an error."""

from __future__ import annotations

from collections.abc import Sequence

from kschedctl.web.pages.sheet import framed
from kschedctl.web.pages.visit import ServerState, Visit, address_values, local_path


def problem_page(
    status: int, title: str, problems: Sequence[tuple[str, str, str, str]], *, path: str = "/", query: bytes = b""
) -> str:
    """Return the page of an error.

    Parameters
    ----------
    status, title
        The status of the response and its name.
    problems : sequence of (where, field, problem, hint)
        The problems, at least one.
    path, query
        The address of the request, so that a what-if that caused the error can be removed.
    """
    visit = Visit(server=ServerState(name=""), path=local_path(path), values=address_values(query))
    return framed("problem.html.j2", visit, title=title, status=status, problems=problems)

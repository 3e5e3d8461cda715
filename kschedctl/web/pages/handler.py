"""Handlers of pages: a worker process makes the page, with the cluster that it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from litestar import MediaType, Request, Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.response import Redirect

from kschedctl.web.pages.visit import Visit
from kschedctl.web.served import Served

AnyRequest: TypeAlias = Request[Any, Any, Any]


def page(path: str, make: Callable[..., str], *arguments: object) -> HTTPRouteHandler:
    """Return the handler of a page.

    Parameters
    ----------
    path : str
        The path of the page.
    make : callable
        A function of a module that returns the page; a worker process calls it as
        ``make(cluster, visit, *arguments, handle)``.
    *arguments
        Its further arguments, which can be pickled.
    """

    async def handle(request: AnyRequest, served: NamedDependency[Served]) -> Response[Any]:
        visit = Visit.of(request, served)
        if visit.new_what_if:
            return Redirect(visit.new_what_if, status_code=303)
        return Response(await served.ask(make, visit, *arguments), media_type=MediaType.HTML)

    return get(path)(handle)

"""The form for the token, which becomes a cookie."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs

from litestar import MediaType, Request, Response, Router, get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.response import Redirect

from kschedctl.web.access import COOKIE, Access, session_of
from kschedctl.web.login_address import local_address
from kschedctl.web.pages.sheet import framed
from kschedctl.web.pages.visit import ServerState, Visit
from kschedctl.web.served import Served

#: The time for which a browser is known, in seconds.
_SESSION_SECONDS: Final = 12 * 3600


@get("/login", media_type=MediaType.HTML)
async def show_form(request: Request[Any, Any, Any]) -> str:
    """Show the form for the token."""
    return _page(_fields(request.scope["query_string"]).get("next", ""))


@post("/login", media_type=MediaType.HTML)
async def log_in(request: Request[Any, Any, Any], served: NamedDependency[Served]) -> Response[object]:
    """Check the token, and set the cookie."""
    fields = _fields(await request.body())
    wanted = fields.get("next", "")
    if not Access(served.settings).is_token(fields.get("token", "")):
        return Response(_page(wanted, "This is not the token of this server."), status_code=401)
    cookie = Cookie(
        key=COOKIE,
        value=session_of(served.settings.token, int(time.time()) + _SESSION_SECONDS),
        max_age=_SESSION_SECONDS,
        path="/",
        httponly=True,
        # With "strict", a link that somebody shared would lead to this form.
        samesite="lax",
        # The server speaks HTTP, perhaps behind a proxy with TLS; the browser names the scheme that it uses.
        secure=request.headers.get("Origin", "").startswith("https://"),
    )
    return Redirect(local_address(wanted), status_code=303, cookies=[cookie])


def _fields(sent: bytes) -> Mapping[str, str]:
    """Return the fields of a form or an address, the first of each name; none if they cannot be read."""
    try:
        return {name: values[0] for name, values in parse_qs(sent.decode("ascii"), max_num_fields=5).items()}
    except ValueError:
        return {}


def _page(wanted: str, problem: str = "") -> str:
    # Nothing about the cluster is shown before the token is known.
    visit = Visit(server=ServerState(name=""), path="/login")
    return framed("login.html.j2", visit, title="Log in", problem=problem, next=local_address(wanted))


LOGIN: Final = Router("/", route_handlers=[show_form, log_in])

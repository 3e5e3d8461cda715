"""The application: pages, API, probes and metrics over one cluster."""

from __future__ import annotations

from typing import Any

from litestar import Litestar
from litestar.di import Provide

from kschedctl.web.api.routes import API
from kschedctl.web.guard import Guard
from kschedctl.web.pages import ROUTES
from kschedctl.web.probes import PROBES
from kschedctl.web.problems import respond
from kschedctl.web.served import Served
from kschedctl.web.settings import ServeSettings
from kschedctl.web.source import ClusterSource
from kschedctl.web.static_files import STATIC


def create_app(source: ClusterSource, settings: ServeSettings) -> Litestar:
    """Return the application.

    Parameters
    ----------
    source : ClusterSource
        The source of the cluster; the application closes it when it ends.
    settings : ServeSettings
        The settings.
    """
    served = Served(source, settings)

    def provide_served() -> Served:
        return served

    app = Litestar(
        route_handlers=[
            API,
            PROBES,
            STATIC,
            *ROUTES,
        ],
        dependencies={"served": Provide(provide_served, sync_to_thread=False)},
        exception_handlers={Exception: respond},
        lifespan=[served.lifespan],
        logging_config=None,
        openapi_config=None,
        request_max_body_size=None,
        debug=False,
    )
    app.state.served = served
    handler: Any = app.asgi_handler
    guarded: Any = Guard(handler, settings, lambda status: served.responses.update((status,)))
    app.asgi_handler = guarded
    return app

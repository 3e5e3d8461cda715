"""The pages: one module per page, and the list of their routers.

A handler gets the state of the server by a parameter ``served: NamedDependency[Served]``. It passes a function of its
module to ``Served.ask``, which calls it with the cluster in a worker process; the function returns the page as text.
"""

from __future__ import annotations

from typing import Final

from litestar import Router

from kschedctl.web.pages.job_forms import FORMS
from kschedctl.web.pages.jobs import JOBS
from kschedctl.web.pages.lists import LISTS
from kschedctl.web.pages.login import LOGIN
from kschedctl.web.pages.objects import OBJECTS
from kschedctl.web.pages.overview import OVERVIEW
from kschedctl.web.pages.pending import PENDING_PODS
from kschedctl.web.pages.try_manifest import TRY

#: The routers of all pages.
ROUTES: Final[tuple[Router, ...]] = (LOGIN, OVERVIEW, PENDING_PODS, LISTS, OBJECTS, TRY, FORMS, JOBS)

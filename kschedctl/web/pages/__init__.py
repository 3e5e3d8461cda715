"""The pages: one module per page, and the list of their routers.

A handler gets the state of the server by a parameter ``served: NamedDependency[Served]``. It passes a function of its
module to ``Served.ask``, which calls it with the cluster in a worker process; the function returns the page as text.
"""

from typing import Final

from litestar import Router

from kschedctl.web.pages.forms import FORMS, JOBS, LOGIN, TRY
from kschedctl.web.pages.objects import LISTS, OBJECTS, OVERVIEW, PENDING_PODS

#: The routers of all pages.
ROUTES: Final[tuple[Router, ...]] = (LOGIN, OVERVIEW, PENDING_PODS, LISTS, OBJECTS, TRY, FORMS, JOBS)

"""One request at a time to an API server, of any method: for the few things that change something in a cluster.

Nothing is asked a second time: whoever changes something decides itself whether to try again.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from kschedctl.errors import ClusterError
from kschedctl.live.body import read_body
from kschedctl.live.connection import cause_of
from kschedctl.live.context import LiveContext
from kschedctl.live.limits import Limits
from kschedctl.live.refusals import refusal
from kschedctl.live.settings import client_settings

_JSON: Final = "application/json"
#: Bytes of an answer, which is one object.
_MAX_ANSWER: Final = 16 * 1024 * 1024


class ObjectClient:
    """An API server, as the user of a context.

    Parameters
    ----------
    live : LiveContext
        Which.

    Attributes
    ----------
    host : str
        The server's address.

    Raises
    ------
    InputError, ClusterError
        As ``client_settings`` says; nothing is asked of the server yet.
    """

    def __init__(self, live: LiveContext) -> None:
        settings = client_settings(live)
        from urllib3 import disable_warnings
        from urllib3.exceptions import InsecureRequestWarning

        if not settings.configuration.verify_ssl:
            # The kubeconfig says so itself; kubectl does not warn either.
            disable_warnings(InsecureRequestWarning)
        # What fails is told by who asked.
        logging.getLogger("urllib3").setLevel(logging.ERROR)
        self.host = str(settings.configuration.host)
        self._settings = settings
        self._pool = settings.pool()

    def request(self, method: str, path: str, body: bytes | None, seconds: float) -> bytes:
        """Ask once.

        Parameters
        ----------
        method : str
            Such as ``PUT``.
        path : str
            Below the server's address.
        body : bytes or None
            JSON.
        seconds : float
            How long it may take.

        Returns
        -------
        bytes
            The body of the answer.

        Raises
        ------
        ForbiddenError, NotServedError, ConflictingError
            For the answers 403, 404 and 409.
        ClusterError
            Where the server cannot be reached, does not answer in time or with another error.
        """
        from urllib3 import HTTPHeaderDict, Timeout
        from urllib3.exceptions import HTTPError

        limits = Limits(seconds, _MAX_ANSWER)
        until = limits.request()
        headers = HTTPHeaderDict({"Accept": _JSON, "Content-Type": _JSON, "User-Agent": "kschedctl"})
        for name, value in self._settings.headers():
            headers.add(name, value)
        left = until.left
        if left == 0:
            raise until.too_late(f"{self.host}{path} has not been asked")
        try:
            response: Any = self._pool.request(
                method,
                f"{self.host}{path}",
                body=body,
                headers=headers,
                timeout=Timeout(total=left),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            try:
                answer = read_body(response, limits, until, f"{self.host}{path}")
            except BaseException:
                # What is left of the answer is not waited for.
                response.close()
                raise
        except HTTPError as error:
            raise ClusterError(f"{self.host} cannot be asked within {seconds:.1f} s: {cause_of(error)}") from None
        response.release_conn()
        if 200 <= response.status < 300:
            return answer
        raise refusal(response.status, answer, self.host, path, self._settings.name)

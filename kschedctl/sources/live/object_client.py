"""A client for single requests of any method to an API server, used by the few features that modify a cluster.

Requests are not retried: the caller decides about retries of a modification.
"""

from __future__ import annotations

from typing import Final

from urllib3.exceptions import HTTPError

from kschedctl.sources.live.api_server import ApiServer
from kschedctl.sources.live.causes import unreachable
from kschedctl.sources.live.http import JSON
from kschedctl.sources.live.limits import Limits

#: The maximum size of a response, which is one object, in bytes (16 MiB).
_MAX_ANSWER: Final = 16 * 1024 * 1024


class ObjectClient(ApiServer):
    """A client of an API server for requests that can modify objects."""

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        seconds: float,
        *,
        query: str = "",
        content_type: str = JSON,
    ) -> bytes:
        """Send a request once, with a JSON body or without a body, and return the body of the response.

        Parameters
        ----------
        query : str
            The query, with its question mark; empty for none.
        content_type : str
            The content type of the body, such as that of a patch.

        Raises
        ------
        ForbiddenError, NotServedError, ConflictingError
            If the status is 403, 404 or 409.
        ClusterError
            If the server cannot be reached, does not respond in time or responds with another error.
        """
        limits = Limits(seconds, _MAX_ANSWER)
        try:
            status, _, answer = self._ask(
                method, path, limits, limits.request(), query=query, body=body, content_type=content_type
            )
        except HTTPError as error:
            raise unreachable(self.host, error) from None
        if 200 <= status < 300:
            return answer
        raise self._refusal(status, answer, path)

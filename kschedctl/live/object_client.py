"""One request at a time to an API server, of any method: for the few things that change something in a cluster.

Nothing is asked a second time: whoever changes something decides itself whether to try again.
"""

from __future__ import annotations

from typing import Final

from urllib3.exceptions import HTTPError

from kschedctl.errors import ClusterError
from kschedctl.live.api_server import ApiServer, cause_of
from kschedctl.live.limits import Limits

#: Bytes of an answer, which is one object.
_MAX_ANSWER: Final = 16 * 1024 * 1024


class ObjectClient(ApiServer):
    """An API server that is asked to change something."""

    def request(self, method: str, path: str, body: bytes | None, seconds: float) -> bytes:
        """Ask once, with JSON or without a body, for the body of the answer.

        Raises
        ------
        ForbiddenError, NotServedError, ConflictingError
            For the answers 403, 404 and 409.
        ClusterError
            Where the server cannot be reached, does not answer in time or with another error.
        """
        limits = Limits(seconds, _MAX_ANSWER)
        try:
            status, _, answer = self._ask(method, path, limits, limits.request(), body=body)
        except HTTPError as error:
            raise ClusterError(f"{self.host} cannot be asked within {seconds:.1f} s: {cause_of(error)}") from None
        if 200 <= status < 300:
            return answer
        raise self._refusal(status, answer, path)

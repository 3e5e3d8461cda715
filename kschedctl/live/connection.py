"""Reading from an API server: one GET at a time, answers as bytes, refusals as what they mean."""

from __future__ import annotations

from threading import Lock
from typing import Any, Final, cast
from urllib.parse import urlencode

import msgspec

from kschedctl.errors import ClusterError
from kschedctl.live.context import LiveContext, client_settings

#: How many lists are read at a time.
CONNECTIONS: Final = 8
_JSON: Final = "application/json"
_CONNECT_SECONDS: Final = 10.0
_READ_SECONDS: Final = 60.0
_TRIES: Final = 3
_BACKOFF: Final = 0.2
_BUSY: Final = (429, 502, 503, 504)


class ForbiddenError(Exception):
    """The user may not read this; the text is the server's."""


class NotServedError(Exception):
    """The server has nothing of this name."""


class GoneError(Exception):
    """What a list was continued from is too old to be known."""


class _Refusal(msgspec.Struct):
    """A ``Status`` object, as far as it is told on."""

    message: str = ""


class Connection:
    """An API server, as the user of a context.

    Parameters
    ----------
    live : LiveContext
        Which.

    Attributes
    ----------
    name : str
        The name of the context.
    host : str
        The server's address.

    Raises
    ------
    InputError, ClusterError
        As ``client_settings`` says; nothing is asked of the server yet.
    """

    def __init__(self, live: LiveContext) -> None:
        settings = client_settings(live)
        from kubernetes.client import ApiClient
        from urllib3 import Retry, Timeout, disable_warnings
        from urllib3.exceptions import InsecureRequestWarning

        self.name = settings.name
        self._configuration = settings.configuration
        self._configuration.connection_pool_maxsize = CONNECTIONS
        if not self._configuration.verify_ssl:
            # The kubeconfig says so itself; kubectl does not warn either.
            disable_warnings(InsecureRequestWarning)
        self.host = str(self._configuration.host)
        self._pool = ApiClient(self._configuration).rest_client.pool_manager
        self._login = Lock()
        self._options = {
            "timeout": Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
            "retries": Retry(
                _TRIES, backoff_factor=_BACKOFF, status_forcelist=_BUSY, raise_on_status=False, redirect=False
            ),
        }

    def get(self, path: str, *, accept: str = _JSON, **query: str) -> bytes:
        """Read one thing.

        Parameters
        ----------
        path : str
            Below the server's address, such as ``/api/v1/nodes``.
        accept : str
            The media type that is asked for.
        **query : str
            What to ask for; empty values are left out.

        Raises
        ------
        ForbiddenError, NotServedError, GoneError
            For the answers 403, 404 and 410.
        ClusterError
            Where the server cannot be reached, does not know the user or answers with another error.
        """
        from urllib3.exceptions import HTTPError

        text = urlencode({name: value for name, value in query.items() if value})
        url = f"{self.host}{path}?{text}" if text else f"{self.host}{path}"
        headers = {"Accept": accept, "User-Agent": "kschedctl", **self._authorization()}
        try:
            response = self._pool.request("GET", url, headers=headers, **self._options)
        except HTTPError as error:
            raise ClusterError(f"{self.host} cannot be reached: {_cause(error)}") from None
        if response.status == 200:
            return cast("bytes", response.data)
        raise self._refusal(response.status, response.data, path)

    def close(self) -> None:
        """Close what is open; it opens again where more is asked."""
        for key in self._pool.pools.keys():  # noqa: SIM118  (it cannot be iterated)
            self._pool.pools[key].close()

    def _authorization(self) -> dict[str, str]:
        # Asking for the settings renews a token that has expired, which must happen once.
        with self._login:
            settings: dict[str, Any] = self._configuration.auth_settings()
        return {setting["key"]: setting["value"] for setting in settings.values() if setting["in"] == "header"}

    def _refusal(self, status: int, body: bytes, path: str) -> Exception:
        try:
            said = msgspec.json.decode(body, type=_Refusal).message
        except (msgspec.DecodeError, UnicodeDecodeError):
            said = ""
        match status:
            case 401:
                hint = "log in again, or check the user of the context with: kubectl auth whoami"
                return ClusterError(f"{self.host} does not accept the credentials of context {self.name}", hint=hint)
            case 403:
                return ForbiddenError(said)
            case 404:
                return NotServedError(said)
            case 410:
                return GoneError(said)
        return ClusterError(f"{self.host}{path} answers with status {status}" + (f": {said}" if said else ""))


def _cause(error: BaseException) -> str:
    """The innermost reason of a failed request, without the object's address in front."""
    reason = getattr(error, "reason", None)
    while isinstance(reason, BaseException):
        error, reason = reason, getattr(reason, "reason", None)
    return str(error).rpartition(">: ")[2] or type(error).__name__

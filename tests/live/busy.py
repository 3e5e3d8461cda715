"""The idle check of a real scheduler, by its metrics."""

import re
import ssl
from typing import Final
from urllib.request import urlopen

from tests.live.control_plane import LOOPBACK

#: The metrics of pending work: pods in activeQ and backoffQ, and goroutines outside the scheduling cycles.
_BUSY: Final = re.compile(
    r'^(?:scheduler_pending_pods\{queue="(?:active|backoff)"\}|scheduler_goroutines\{[^}]*\}) (\S+)$', re.MULTILINE
)
_ATTEMPTS: Final = re.compile(r"^scheduler_schedule_attempts_total\{[^}]*\} (\S+)$", re.MULTILINE)
_SECONDS: Final = 30.0


def attempts_so_far(port: int) -> float | None:
    """Return the number of scheduling attempts, or ``None`` while the scheduler has work.

    Parameters
    ----------
    port : int
        The port of the scheduler's metrics.
    """
    # The scheduler's certificate is self-signed; the connection stays on the loopback address.
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    try:
        with urlopen(f"https://{LOOPBACK}:{port}/metrics", timeout=_SECONDS, context=unverified) as answer:
            text = answer.read().decode()
    except OSError:
        return None
    busy = _BUSY.findall(text)
    if not busy or any(float(number) for number in busy):
        return None
    return sum(map(float, _ATTEMPTS.findall(text)))

"""Whether a real scheduler has something to do, by its metrics."""

from __future__ import annotations

import re
import ssl
from typing import Final
from urllib.request import urlopen

from tests.live.control_plane import LOOPBACK

#: What the scheduler is busy with: pods that it will try at once, and what it does beside its cycles.
_BUSY: Final = re.compile(
    r'^(?:scheduler_pending_pods\{queue="(?:active|backoff)"\}|scheduler_goroutines\{[^}]*\}) (\S+)$', re.MULTILINE
)
_ATTEMPTS: Final = re.compile(r"^scheduler_schedule_attempts_total\{[^}]*\} (\S+)$", re.MULTILINE)
_SECONDS: Final = 30.0


def attempts_so_far(port: int) -> float | None:
    """How many attempts there were; ``None`` while there is something to do.

    Parameters
    ----------
    port : int
        Where the scheduler tells its metrics.
    """
    # Its certificate is of its own making, on the loopback address.
    unverified = ssl.create_default_context()
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

"""A registry of open sockets, so that waiting requests can be aborted."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any
from weakref import WeakSet


class OpenSockets:
    """A registry of the connections of a pool.

    Parameters
    ----------
    pool_manager : urllib3.PoolManager
        The pool whose future connections are registered.
    """

    def __init__(self, pool_manager: Any) -> None:
        self._connections: WeakSet[Any] = WeakSet()
        pools = pool_manager.pool_classes_by_scheme
        pool_manager.pool_classes_by_scheme = {scheme: self._remembering(pool) for scheme, pool in pools.items()}

    def shut_down(self) -> None:
        """Shut down all sockets, so that requests that wait for a response fail at once."""
        for connection in tuple(self._connections):
            found = getattr(connection, "sock", None)
            if found is not None:
                with suppress(OSError):
                    # ``close`` does not wake a waiting thread. For TLS, the underlying TCP connection is shut down.
                    socket.socket.shutdown(found, socket.SHUT_RDWR)

    def _remembering(self, pool: Any) -> Any:
        connections = self._connections

        class Remembered(pool.ConnectionCls):  # type: ignore[misc]
            def connect(self) -> None:
                connections.add(self)
                super().connect()

        return type(pool.__name__, (pool,), {"ConnectionCls": Remembered})

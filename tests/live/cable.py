"""A cable to an API server that can be cut: what is sent into it is then lost in silence, and comes to life again."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

_LOOPBACK = "127.0.0.1"


class Cable:
    """Passes connections on to the server of a kubeconfig.

    Parameters
    ----------
    kubeconfig : Path
        Whose server is meant.
    target : Path
        Where the kubeconfig is written that goes over the cable.
    """

    def __init__(self, kubeconfig: Path, target: Path) -> None:
        config: Any = json.loads(kubeconfig.read_text())
        address = urlsplit(config["clusters"][0]["cluster"]["server"])
        self._server = address.hostname or "", address.port or 443
        self._listening = socket.create_server((_LOOPBACK, 0))
        config["clusters"][0]["cluster"]["server"] = f"https://{_LOOPBACK}:{self._listening.getsockname()[1]}"
        target.write_text(json.dumps(config))
        self._whole = Event()
        self._whole.set()
        self._sockets: list[socket.socket] = []
        Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Hold everything up from now on."""
        self._whole.clear()

    def mend(self) -> None:
        """Pass everything on again, and what was held up first."""
        self._whole.set()

    def drop(self) -> None:
        """End all connections that there are; new ones are passed on."""
        dropped, self._sockets = self._sockets, []
        for each in dropped:
            with suppress(OSError):
                # Who passes it on wakes up, and ends both sides.
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End all connections."""
        self.mend()
        for each in (self._listening, *self._sockets):
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
                far = socket.create_connection(self._server)
            except OSError:
                return
            self._sockets += [near, far]
            for source, sink in ((near, far), (far, near)):
                Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self._whole.wait()
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for each in (source, sink):
                with suppress(OSError):
                    # Closing alone wakes up nobody who waits, and the other side hears nothing of it.
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

"""A connection to an API server that can be cut: sent data is held back silently, and delivered once it is restored."""

import json
import socket
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

_LOOPBACK = "127.0.0.1"


class Cable:
    """A proxy that forwards connections to the server of a kubeconfig.

    Parameters
    ----------
    kubeconfig : Path
        The kubeconfig of the server.
    target : Path
        The path for the kubeconfig that uses the proxy.
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
        """Hold back all data until ``mend``."""
        self._whole.clear()

    def mend(self) -> None:
        """Forward data again, held-back data first."""
        self._whole.set()

    def drop(self) -> None:
        """Close all existing connections; new ones are forwarded."""
        dropped, self._sockets = self._sockets, []
        for each in dropped:
            with suppress(OSError):
                # The forwarding thread wakes up and closes both sides.
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the listener and all connections."""
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
                    # close alone neither wakes up waiting threads nor notifies the other side.
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

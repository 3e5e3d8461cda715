"""Load on a server: many clients that ask for explanations at the same time: python -m benchmarks.serve

Each client sends its next request as soon as it has the answer to the last one. Half of the questions are about running
pods, a quarter tries a what-if, and a quarter sends a manifest that the server has not seen before.

All clients are one process on the same machine. It reads the bytes of all answers into one buffer and decodes none, so
that most of the machine is left to the server.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks import synthetic
from benchmarks.rows import Row, report
from tests.web.running import Running, cpu_seconds, resident, running


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=2)
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the rate, CPU time and memory of the server, and the time of the slowest tenth of the answers."""
    with tempfile.TemporaryDirectory() as folder:
        snapshot = synthetic.write_snapshot(Path(folder), args.nodes)
        names = [
            (pod["metadata"]["namespace"], pod["metadata"]["name"])
            for pod in synthetic.pods(3 * args.nodes, args.nodes)
        ]
        with running("--snapshot", str(snapshot), "--workers", str(args.workers)) as server:
            rows = asyncio.run(_load(server, names, args.clients, args.seconds))
    for what, value, unit, note in rows:
        yield Row(f"{what}, {args.nodes:,} nodes, {args.clients} clients", value, unit, note)


async def _load(server: Running, names: list[tuple[str, str]], clients: int, seconds: float) -> list[Row]:
    # Each process loads the cluster, and builds the columns that the pods need.
    await _asked(server, names, [Random(f"before {n}") for n in range(clients)], 5)
    processes = {"server": [server.process.pid], "workers": server.children(), "clients": [os.getpid()]}
    began, cpu = time.monotonic(), {name: cpu_seconds(pids) for name, pids in processes.items()}
    memory: list[float] = []

    async def watch() -> None:
        while True:
            memory.append(resident([*processes["server"], *processes["workers"]]))
            await asyncio.sleep(2)

    watching = asyncio.create_task(watch())
    times, statuses = await _asked(server, names, [Random(n + 1) for n in range(clients)], seconds)
    watching.cancel()
    took = time.monotonic() - began
    cut = statistics.quantiles(times, n=20)
    cost = {name: (cpu_seconds(pids) - cpu[name]) / len(times) for name, pids in processes.items()}
    costs = ", ".join(f"{name} {each * 1e3:.2f} ms" for name, each in cost.items())
    quarter = max(1, len(memory) // 4)
    shown = (statistics.mean(memory[i * quarter : (i + 1) * quarter]) for i in range(4))
    quarters = f"by quarter of the time: {', '.join(f'{each:.0f}' for each in shown)} MB"
    return [
        Row("answers of a server", len(times) / took, "answers/s", f"{took:.0f} s, by status: {dict(statuses)}"),
        Row(
            "CPU time of an answer",
            (cost["server"] + cost["workers"]) * 1e3,
            "ms",
            f"{costs}; {sum(cost.values()) * len(times) / took:.1f} cores used by all",
        ),
        Row(
            "slowest tenth",
            cut[17] * 1e3,
            "ms wall",
            f"median {cut[9] * 1e3:.0f} ms, slowest {max(times) * 1e3:.0f} ms",
        ),
        Row("memory of a server", max(memory), "MB", quarters),
    ]


class _Answers(NamedTuple):
    """The answers that the clients received: the time of each, in seconds, and their number by status."""

    times: list[float]
    statuses: Counter[int]


async def _asked(server: Running, names: list[tuple[str, str]], clients: list[Random], seconds: float) -> _Answers:
    """Run clients for some seconds, each with its own random requests, and return the answers."""
    answers, until = _Answers([], Counter()), time.monotonic() + seconds
    loop, host = asyncio.get_running_loop(), f"{server.host}:{server.port}"
    asking = []
    for random in clients:
        ask = partial(_request, names, random, host)
        _, client = await loop.create_connection(partial(_Client, ask, until, answers), server.host, server.port)
        asking.append(client.done)
    await asyncio.gather(*asking)
    return answers


class _Client(asyncio.BufferedProtocol):
    """A client that sends its next request as soon as it has the answer to the last one.

    done: The end of the requests; it has the error if the server closed the connection.

    Args:
        ask: Returns a request.
        until: The time after which no request is sent.
    """

    #: The buffer of all clients.
    _BUFFER: Final = memoryview(bytearray(2**18))

    def __init__(self, ask: Callable[[], bytes], until: float, answers: _Answers) -> None:
        self._ask = ask
        self._until = until
        self._answers = answers
        self._head = b""
        self._left = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        request = self._ask()
        self._began = time.monotonic()
        self._transport.write(request)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        if self._left:
            self._left -= nbytes
        else:
            self._head += self._BUFFER[:nbytes]
            head, end, body = self._head.partition(b"\r\n\r\n")
            if not end:
                return
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            self._answers.statuses[int(head.split(b" ", 2)[1])] += 1
            self._head, self._left = b"", int(length.split(b":")[1]) - len(body)
        if self._left:
            return
        now = time.monotonic()
        self._answers.times.append(now - self._began)
        if now < self._until:
            self._send()
        else:
            self.done.set_result(None)
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or EOFError("the server closed the connection"))


def _request(names: list[tuple[str, str]], random: Random, host: str) -> bytes:
    namespace, name = random.choice(names)
    path, body, method = f"/api/v1/pods/{namespace}/{name}/explain", b"", "GET"
    kind = random.randrange(4)
    if kind == 2:
        path += f"?cordon=node-{random.randrange(100)}"
    if kind == 3:
        pod = msgspec.to_builtins(synthetic.pod_to_place(random.choice(("plain", "spread", "anti"))))
        pod = {"apiVersion": "v1", "kind": "Pod", **pod}
        pod["spec"]["containers"][0]["resources"]["requests"]["memory"] = str(2**28 + random.randrange(2**20))
        path, body, method = "/api/v1/explain", msgspec.json.encode(pod), "POST"
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


if __name__ == "__main__":
    main()

"""Load on a server: many clients that ask for explanations at the same time: python -m benchmarks.serve

Each client sends its next request as soon as it has the answer to the last one. Half of the questions are about running
pods, a quarter tries a what-if, and a quarter sends a manifest that the server has not seen before.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from benchmarks import synthetic
from benchmarks.rows import Row, report
from tests.web.running import Running, running


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
    times: list[float] = []
    statuses: Counter[int] = Counter()
    # The processes load the cluster, and build the columns that the pods need.
    await _client(server, names, Random(0), time.monotonic() + 5, [], Counter())
    began, cpu = time.monotonic(), server.cpu_seconds()
    memory: list[float] = []

    async def watch() -> None:
        while True:
            memory.append(server.memory())
            await asyncio.sleep(2)

    watching = asyncio.create_task(watch())
    await asyncio.gather(
        *(_client(server, names, Random(n + 1), began + seconds, times, statuses) for n in range(clients))
    )
    watching.cancel()
    took = time.monotonic() - began
    cut = statistics.quantiles(times, n=20)
    cpu = server.cpu_seconds() - cpu
    quarter = max(1, len(memory) // 4)
    shown = (statistics.mean(memory[i * quarter : (i + 1) * quarter]) for i in range(4))
    quarters = f"by quarter of the time: {', '.join(f'{each:.0f}' for each in shown)} MB"
    return [
        Row("answers of a server", len(times) / took, "answers/s", f"{took:.0f} s, by status: {dict(statuses)}"),
        Row("CPU time of an answer", cpu / len(times) * 1e3, "ms", f"{cpu / took:.1f} cores used"),
        Row(
            "slowest tenth",
            cut[17] * 1e3,
            "ms wall",
            f"median {cut[9] * 1e3:.0f} ms, slowest {max(times) * 1e3:.0f} ms",
        ),
        Row("memory of a server", max(memory), "MB", quarters),
    ]


async def _client(
    server: Running,
    names: list[tuple[str, str]],
    random: Random,
    until: float,
    times: list[float],
    statuses: Counter[int],
) -> None:
    reader, writer = await asyncio.open_connection(server.host, server.port)
    while time.monotonic() < until:
        request = _request(names, random, f"{server.host}:{server.port}")
        began = time.monotonic()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        times.append(time.monotonic() - began)
        statuses[int(head.split(b" ", 2)[1])] += 1
    writer.close()


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

"""No hostile request makes the server fail, slow or large, or shows what is none of the client's business."""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random

import pytest

from tests.web.hostile import request
from tests.web.running import Running, running
from tests.web.test_running import get, rest

LEAKS = (b"Traceback", b"root:", b"site-packages", b'File "', b"Litestar", b"uvicorn")
SEED = int(os.environ.get("FUZZ_SEED", "1")) if os.environ.get("FUZZ_SEED") != "random" else Random().randrange(2**32)


def answer(server: Running, sent: bytes) -> bytes:
    with server.open() as connection:
        # The server may refuse the request before its end.
        with suppress(OSError):
            connection.sendall(sent)
        return rest(connection).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.parametrize("number", [400, pytest.param(20_000, marks=pytest.mark.slow)])
def test_hostile_requests_are_refused(number: int) -> None:
    random = Random(SEED)
    statuses: Counter[str] = Counter()
    with running("--snapshot", "fixtures/shop/cluster", "--workers", "2", "--time-limit", "60") as server:
        memory = 0.0
        with ThreadPoolExecutor(max_workers=8) as threads:
            for done in range(0, number, 200):
                requests = [request(random) for _ in range(200)]
                for sent, received in zip(
                    requests, threads.map(lambda sent: answer(server, sent), requests), strict=True
                ):
                    status = received[9:12].decode() if received.startswith(b"HTTP/1.1 ") else "none"
                    statuses[status] += 1
                    assert status == "none" or status < "500", (SEED, sent, received[:2000])
                    assert not [leak for leak in LEAKS if leak in received], (SEED, sent, received[:2000])
                if done >= number // 2 and not memory:
                    memory = server.memory()
        # The second half of the requests needs no more memory than the first.
        assert server.memory() < memory * 1.25 + 20, (memory, server.memory())
        assert get(server, "/api/v1/pods/shop/web-7/explain")[0] == 200
        assert "Traceback" not in server.log.read_text()
    assert {"200", "202", "400", "404", "421", "422"} <= set(statuses), statuses
    assert statuses["none"] < number / 100, statuses

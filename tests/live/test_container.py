"""The container image against a real API server: ``snapshot``, ``explain``, ``watch`` and ``serve``."""

import threading
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.live.control_plane import ControlPlane, free_ports
from tests.packaging.images import image
from tools.container import Ran, expect

pytestmark = pytest.mark.live

SECONDS = 120.0


@pytest.fixture(scope="module")
def mounts(scheduled: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str]:
    """Return the folder with the kubeconfig, which the user of the image is allowed to read."""
    folder = tmp_path_factory.mktemp("mounted")
    for path in (folder, *folder.parents):
        if path.stat().st_uid == folder.stat().st_uid and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)
    (folder / "kubeconfig").write_bytes(scheduled.kubeconfig.read_bytes())
    (folder / "kubeconfig").chmod(0o644)
    return {folder: "/work"}


def test_snapshot_and_explain(mounts: dict[Path, str]) -> None:
    built = image()
    words = "kschedctl snapshot -o /tmp/a.tar.gz --kubeconfig kubeconfig && kschedctl nodes --snapshot /tmp/a.tar.gz"
    done = built.builder.run(built.tag, "-euc", words, entrypoint=["/bin/sh"], mounts=mounts)
    expect(done, 0, "blue-1")
    expect(built.builder.run(built.tag, "pending", "--kubeconfig", "kubeconfig", mounts=mounts), 1, "pending")


def test_watch(mounts: dict[Path, str]) -> None:
    built = image()
    words = ["watch", "-A", "-o", "jsonl", "--kubeconfig", "kubeconfig"]
    done = built.builder.run(built.tag, "20", "kschedctl", *words, entrypoint=["/usr/bin/timeout"], mounts=mounts)
    # timeout(1) ended it with SIGTERM.
    assert '"pod":' in done.text or '"namespace":' in done.text, done.text


def test_serve(mounts: dict[Path, str]) -> None:
    built = image()
    (port,) = free_ports(1)
    ended: list[Ran] = []

    def run() -> None:
        words = ["serve", f"--listen=127.0.0.1:{port}", "--kubeconfig", "kubeconfig"]
        ran = built.builder.run(built.tag, "60", "kschedctl", *words, entrypoint=["/usr/bin/timeout"], mounts=mounts)
        ended.append(ran)

    thread = threading.Thread(target=run)
    thread.start()
    until, answer = time.monotonic() + SECONDS, b""
    while not answer and not ended and time.monotonic() < until:
        try:
            with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as response:
                answer = response.read()
        except OSError:
            time.sleep(0.5)
    thread.join()
    assert answer, ended

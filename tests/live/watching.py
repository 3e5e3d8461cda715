"""A process of ``kschedctl watch`` on a real control plane, and its output."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.watch.pod_answers import PendingReport, PodAnswer, PodAnswers
from tests.builders import load_engine

ENTRY: Final = "import sys; sys.argv[0] = 'kschedctl'; from kschedctl.cli.main import run; run()"
_PORT: Final = re.compile(r"on port ([0-9]+)")


class Watching:
    """A process of ``kschedctl watch -A -o jsonl`` with additional options."""

    def __init__(self, kubeconfig: Path, folder: Path, *options: str, name: str = "watch") -> None:
        self._errors = folder / f"{name}.txt"
        words = ["watch", "-A", "-o", "jsonl", "--kubeconfig", str(kubeconfig), *options]
        with open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", ENTRY, *words], stdout=subprocess.PIPE, stderr=errors, cwd=folder
            )
        #: The lines of the output, each with the time of its arrival.
        self.lines: list[tuple[float, dict[str, Any]]] = []
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.lines.append((time.time(), json.loads(line)))

    @property
    def errors(self) -> str:
        """The output on standard error."""
        return self._errors.read_text()

    @property
    def pid(self) -> int:
        """The process ID."""
        return self._process.pid

    @property
    def resident_mib(self) -> float:
        """The resident memory of the process, in MiB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def of(self, pod: str, since: int = 0) -> list[dict[str, Any]]:
        """Return the lines about a pod, from line ``since`` on."""
        return [
            said for _, said in self.lines[since:] if "name" in said and f"{said['namespace']}/{said['name']}" == pod
        ]

    def said(self, pod: str, since: int = 0) -> list[str]:
        """Return the lines about a pod in short: the result, or the kind of line for other events."""
        return [str(said.get("result", said["kind"])) for said in self.of(pod, since)]

    def last(self) -> dict[str, PodAnswer]:
        """Return the last answer about every pod that is neither placed nor gone."""
        found: dict[str, PodAnswer] = {}
        for _, said in self.lines:
            if "name" not in said:
                continue
            key = f"{said['namespace']}/{said['name']}"
            if said["kind"] == "PodWaits":
                found[key] = PodAnswer(said["result"], said["message"], said["preemption"] is not None)
            else:
                found.pop(key, None)
        return found

    def get(self, path: str) -> tuple[int, str]:
        """Return status and body of an HTTP response."""
        port = wait_for(lambda: _PORT.search(self.errors), "a port")[1]
        try:
            with urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metrics(self) -> dict[str, float]:
        """Return the metrics, by name and labels."""
        return {
            sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
            for family in text_string_to_metric_families(self.get("/metrics")[1])
            for sample in family.samples
        }

    def kill(self) -> None:
        """Kill the process, as if the machine had failed."""
        self._process.kill()
        self._process.wait()
        self._reader.join(5)

    def end(self, number: int = signal.SIGTERM) -> int:
        """End the process with a signal, and return its exit code."""
        self._process.send_signal(number)
        code = self._process.wait(20)
        self._reader.join(5)
        return code


def wait_for(what: Callable[[], Any], name: str, seconds: float = 30.0) -> Any:
    """Wait until a function returns a true value, and return the value."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, f"waited in vain for {name}"
        time.sleep(0.02)
    return found


def explained(kubeconfig: Path) -> dict[str, PodAnswer]:
    """Return the answers about all pending pods that do not fit, computed from a new snapshot of the cluster."""
    cluster = load_engine(live=LiveContext(kubeconfig=str(kubeconfig)))
    told = PodAnswers(lambda metadata: True).round(cluster).told
    return {one.pod.key: one.answer for one in told if isinstance(one, PendingReport)}

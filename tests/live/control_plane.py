"""A real control plane: etcd and kube-apiserver, on request also kube-scheduler and kube-controller-manager.

The binaries are in the folder that ``KUBEBUILDER_ASSETS`` names, as for other tools that test against a control plane.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

ASSETS: Final = "KUBEBUILDER_ASSETS"
NEEDED: Final = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl")
LOOPBACK: Final = "127.0.0.1"
_READY_SECONDS: Final = 60.0
_NOT_READY: Final = "node.kubernetes.io/not-ready"


def missing_assets() -> str:
    """Return the reason why no control plane is available; empty if one is."""
    folder = os.environ.get(ASSETS, "")
    if not folder:
        return f"{ASSETS} is not set"
    missing = [name for name in NEEDED if not os.access(Path(folder) / name, os.X_OK)]
    return f"{folder} ({ASSETS}) has no {', '.join(missing)}" if missing else ""


def assets_release() -> str:
    """Return the release of the programs, such as ``1.36``."""
    return _release_of(os.environ[ASSETS])


# Tests ask it for each of thousands of objects, and the program takes a tenth of a second to say it.
@cache
def _release_of(folder: str) -> str:
    done = subprocess.run([f"{folder}/kube-apiserver", "--version"], check=True, capture_output=True, text=True)
    return ".".join(done.stdout.removeprefix("Kubernetes v").split(".")[:2])


class ControlPlane:
    """The processes of a control plane, with their data in one folder, on free ports of the loopback address.

    Parameters
    ----------
    folder : Path
        The folder of all data.

    Attributes
    ----------
    kubeconfig : Path
        The kubeconfig of a user with all rights.
    kubeconfig_nobody : Path
        The kubeconfig of a user without any rights.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig_nobody = folder / "kubeconfig-nobody"
        self._binaries = Path(os.environ[ASSETS])
        self._etcd = ""
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, tuple[str, tuple[str, ...]]] = {}

    def start(self, *flags: str) -> None:
        """Start etcd and the API server, with additional flags, and wait up to 60 seconds until it is ready."""
        openssl = shutil.which("openssl")
        assert openssl, "openssl makes the key that the API server signs with"
        key = self.folder / "sa.key"
        subprocess.run([openssl, "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        (self.folder / "tokens.csv").write_text('admin,admin,admin,"system:masters"\nnobody,nobody,nobody\n')
        client, peer, secure = free_ports(3)
        etcd = self._etcd = f"http://{LOOPBACK}:{client}"
        self._run(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls=http://{LOOPBACK}:{peer}",
            f"--initial-advertise-peer-urls=http://{LOOPBACK}:{peer}",
            f"--initial-cluster=default=http://{LOOPBACK}:{peer}",
            "--unsafe-no-fsync",
        )
        self._run(
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={secure}",
            f"--cert-dir={self.folder / 'certs'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
            *flags,
        )
        for user, path in (("admin", self.kubeconfig), ("nobody", self.kubeconfig_nobody)):
            path.write_text(json.dumps(_kubeconfig(user, f"https://{LOOPBACK}:{secure}")))
        self._wait_until_ready()

    def start_scheduler(self, *flags: str, port: int = 0, config: Mapping[str, Any] | None = None) -> None:
        """Start kube-scheduler.

        Parameters
        ----------
        *flags : str
            The flags besides the connection.
        port : int, optional
            The port of its metrics, without authorization; the default 0 disables them.
        config : mapping, optional
            The KubeSchedulerConfiguration; the default is none.
        """
        connection = [f"--kubeconfig={self.kubeconfig}"]
        if config is not None:
            path = self.folder / "scheduler.json"
            client = {"clientConnection": {"kubeconfig": str(self.kubeconfig)}}
            path.write_text(json.dumps({**config, **client, "leaderElection": {"leaderElect": False}}))
            connection = [f"--config={path}"]
        self._run(
            "kube-scheduler",
            *connection,
            f"--secure-port={port}",
            f"--bind-address={LOOPBACK}",
            f"--cert-dir={self.folder / 'scheduler'}",
            "--authorization-always-allow-paths=/metrics",
            "--leader-elect=false",
            *flags,
        )

    def start_contender(self, name: str, *flags: str, kubeconfig: Path | None = None) -> None:
        """Start a kube-scheduler that takes part in a leader election, as a process with its own name.

        Parameters
        ----------
        name : str
            The name of the process for `stop` and `log`.
        *flags : str
            The flags of the election.
        kubeconfig : Path, optional
            The kubeconfig; the default is the administrator's.
        """
        self._run(
            "kube-scheduler",
            f"--kubeconfig={kubeconfig or self.kubeconfig}",
            "--secure-port=0",
            "-v=2",
            *flags,
            name=name,
        )

    def log(self, name: str) -> str:
        """Return the output of a process so far."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def pid(self, name: str) -> int:
        """Return the process ID of a process."""
        return self._processes[name].pid

    def start_controllers(self) -> None:
        """Start kube-controller-manager without node-lifecycle-controller, which taints nodes without a heartbeat."""
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            "--secure-port=0",
            "--leader-elect=false",
            f"--service-account-private-key-file={self.folder / 'sa.key'}",
            "--controllers=*,-node-lifecycle-controller",
        )

    def stop(self, *names: str) -> None:
        """Kill the named processes, or all of them, the last started first."""
        for name in names or list(reversed(self._processes)):
            process = self._processes.pop(name, None)
            if process is not None:
                process.kill()
                process.wait()

    def start_again(self, name: str = "kube-apiserver") -> None:
        """Start a process with its earlier arguments, and wait until the API server is ready."""
        binary, arguments = self._commands[name]
        self._run(binary, *arguments, name=name)
        self._wait_until_ready()

    def compact(self) -> None:
        """Compact etcd's history up to the current revision."""

        def ask(path: str, body: Mapping[str, str]) -> Any:
            with urlopen(Request(f"{self._etcd}/v3/kv/{path}", json.dumps(body).encode()), timeout=10) as answer:
                return json.load(answer)

        # Any key returns the current revision. "Lw==" is a slash.
        revision = ask("range", {"key": "Lw=="})["header"]["revision"]
        ask("compaction", {"revision": revision})

    def pause(self, name: str) -> None:
        """Suspend a process until it is resumed."""
        self._processes[name].send_signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Resume a paused process."""
        self._processes[name].send_signal(signal.SIGCONT)

    def kubectl(self, *arguments: str, given: Any = None) -> str:
        """Run kubectl as the user with all rights, and return its output.

        Parameters
        ----------
        *arguments : str
            The arguments of kubectl.
        given : JSON value, optional
            The standard input.
        """
        done = self._kubectl(arguments, None if given is None else json.dumps(given))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kubectl_fails(self, *arguments: str) -> str:
        """Run kubectl, check that it fails, and return its standard output."""
        done = self._kubectl(arguments, None)
        assert done.returncode != 0, done.stdout
        return done.stdout

    def _kubectl(self, arguments: Sequence[str], text: str | None) -> subprocess.CompletedProcess[str]:
        command = [str(self._binaries / "kubectl"), f"--kubeconfig={self.kubeconfig}", *arguments]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    def create(self, objects: Iterable[dict[str, Any]]) -> None:
        """Create objects."""
        self.kubectl("create", "-f", "-", given={"apiVersion": "v1", "kind": "List", "items": list(objects)})

    def create_nodes(self, nodes: Sequence[dict[str, Any]]) -> None:
        """Create ready nodes with the given status."""
        self.create({key: value for key, value in node.items() if key != "status"} for node in nodes)
        for node in nodes:
            name = node["metadata"]["name"]
            status = {"status": node["status"]}
            self.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps(status))
            self.kubectl("taint", "node", name, f"{_NOT_READY}:NoSchedule-")

    def get(self, kind: str, *arguments: str) -> list[dict[str, Any]]:
        """Return all objects of a kind in all namespaces."""
        items: list[dict[str, Any]] = json.loads(self.kubectl("get", kind, "-A", "-o", "json", *arguments))["items"]
        return items

    def _run(self, binary: str, *arguments: str, name: str = "") -> None:
        name = name or binary
        self._commands[name] = binary, arguments
        with open(self.folder / f"{name}.log", "wb") as log:
            self._processes[name] = subprocess.Popen(
                [str(self._binaries / binary), *arguments], stdout=log, stderr=log, cwd=self.folder
            )

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + _READY_SECONDS
        command = [str(self._binaries / "kubectl"), f"--kubeconfig={self.kubeconfig}", "get", "--raw", "/readyz"]
        while time.monotonic() < until:
            if subprocess.run(command, capture_output=True, check=False).stdout == b"ok":
                return
            time.sleep(0.25)
        log = (self.folder / "kube-apiserver.log").read_text(errors="replace")
        raise AssertionError(f"the API server is not ready after {_READY_SECONDS:.0f} s: {log[-2000:]}")


def free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    try:
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _kubeconfig(user: str, server: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "insecure-skip-tls-verify": True}}],
        "users": [{"name": user, "user": {"token": user}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
        "current-context": "test",
    }

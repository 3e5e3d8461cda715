"""Output never controls a terminal, hides text, or runs when pasted, whatever a snapshot contains."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from tests.cli.in_process import run

#: Terminal escapes (colours, titles, links, clipboard), line breaks, text direction and invisible characters.
NASTY = (
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\x1b]8;;mailto:x\x1b\\",
    "\x1b]52;c;eA==\x07",
    "\r",
    "\n",
    "\n  ",
    "\t",
    "\x00",
    "\x7f",
    "\x9b2J",
    "\x85",
    "\u2028",
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    *"\u200b\u200d\u00ad\u2060\ufeff\u3164\ufe0f\U000e0041",
)
names = st.lists(st.sampled_from((*NASTY, "web", "-1", "é", "日", "'", "; touch x #")), min_size=1, max_size=5)


#: Stands for the namespace until the name is known.
NAMESPACE = "NAMESPACE"
#: Admission refuses such names; the pods of a snapshot have them all the same.
AS_IT_IS = "--no-admission"


def _object(kind: str, name: str, api: str = "v1", **fields: Any) -> dict[str, Any]:
    cluster_wide = ("Node", "PersistentVolume", "StorageClass", "PriorityClass")
    metadata = {"name": name, "uid": f"{kind}-{name}", "labels": {name: name}, "annotations": {name: name}}
    if kind not in cluster_wide:
        metadata["namespace"] = NAMESPACE
    return {"apiVersion": api, "kind": kind, "metadata": metadata | fields.pop("metadata", {}), **fields}


def _pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": name, "image": name, "resources": {"requests": {"cpu": cpu}}}
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": name}
    return _object("Pod", name, spec={"containers": [container], **spec}, status={"conditions": [condition]})


def _node(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    status = {
        "allocatable": {"cpu": cpu, "memory": "4Gi", "pods": "9"},
        "conditions": [{"type": name, "status": "True", "reason": name, "message": name}],
        "nodeInfo": {"kubeletVersion": "v1.36.0"},
    }
    labels = {"topology.kubernetes.io/zone": name, "kubernetes.io/hostname": name}
    return _object("Node", name, metadata={"labels": labels}, spec=spec, status=status)


def snapshot(x: str) -> dict[str, Any]:
    """Return a cluster with a text in every field that takes one."""
    spread = {"maxSkew": 1, "topologyKey": x, "whenUnsatisfiable": "DoNotSchedule"}
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": x, "resources": {"requests": {"storage": "1Gi"}}}
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": x,
        "claimRef": {"namespace": f"ns{x}", "name": x, "uid": f"PersistentVolumeClaim-{x}"},
        "hostPath": {"path": x},
    }
    mounts = [{"name": x, "persistentVolumeClaim": {"claimName": x}}]
    pool = {"name": x, "generation": 1, "resourceSliceCount": 1}
    devices = {"driver": x, "nodeName": f"{x}3", "pool": pool, "devices": [{"name": x}]}
    wanted = {"devices": {"requests": [{"name": x, "exactly": {"deviceClassName": x}}]}}
    held = {
        "allocation": {"devices": {"results": [{"request": x, "driver": x, "pool": x, "device": x}]}},
        "reservedFor": [{"resource": "pods", "name": x, "uid": x}],
    }
    items = [
        _node(x, "1", taints=[{"key": x, "value": x, "effect": "NoSchedule"}]),
        _node(f"{x}2", "1", unschedulable=True),
        _node(f"{x}3", "1"),
        _pod(f"{x}high", "1", priority=10, priorityClassName=x),
        _pod(f"{x}big", "9", nodeSelector={x: x}, topologySpreadConstraints=[spread]),
        _pod(f"{x}gated", "1", schedulingGates=[{"name": x}]),
        _pod(f"{x}other", "1", schedulerName=x),
        _pod(f"{x}claims", "0", volumes=mounts),
        _pod(f"{x}low", "1", nodeName=f"{x}3", priority=1),
        _object("PersistentVolumeClaim", x, spec=claim),
        _object("PersistentVolumeClaim", f"{x}lost", spec=claim | {"volumeName": x}),
        _object("PersistentVolume", x, spec=volume),
        _object("StorageClass", x, "storage.k8s.io/v1", provisioner=x),
        _object("PriorityClass", x, "scheduling.k8s.io/v1", value=10),
        _object("ConfigMap", x),
        _object("DeviceClass", x, "resource.k8s.io/v1"),
        _object("ResourceSlice", x, "resource.k8s.io/v1", spec=devices),
        _object("ResourceClaim", x, "resource.k8s.io/v1", spec=wanted, status=held),
        _object("ResourceClaim", f"{x}2", "resource.k8s.io/v1", spec=wanted),
    ]
    for item in items:
        if item["metadata"].get("namespace"):
            item["metadata"]["namespace"] = f"ns{x}"
    return {"apiVersion": "v1", "kind": "List", "items": items}


def commands(x: str) -> list[list[str]]:
    pod, node = f"ns{x}/{x}high", f"{x}3"
    return [
        *(
            ["explain", "-A", AS_IT_IS, *words]
            for words in ((), ("-o", "wide"), ("-o", "name"), ("-o", "json"), ("-o", "yaml"))
        ),
        ["explain", pod, AS_IT_IS, "--node", node],
        ["explain", pod, "--node", f"{x}4"],
        ["explain", pod, AS_IT_IS, "--node", node, "--why"],
        ["explain", pod, AS_IT_IS, "--prefer", node, "--withstand"],
        ["explain", pod, "--prefer", f"{x}4"],
        ["explain", f"{x}none"],
        ["preempt", "-A", AS_IT_IS],
        ["preempt", "-A", AS_IT_IS, "-o", "wide"],
        ["preempt", pod, AS_IT_IS, "-o", "name"],
        ["preempt", "--victim", f"ns{x}/{x}low"],
        ["volumes", "-A"],
        ["volumes", f"ns{x}/{x}", "-o", "wide"],
        ["volumes", "-A", "-o", "name"],
        ["devices", "-o", "wide"],
        ["devices", f"ns{x}/{x}2", f"ns{x}/{x}", "-o", "wide"],
        ["devices", f"class/{x}", "-o", "name"],
        ["verify"],
        ["verify", "-o", "wide"],
        ["diff", "-A", AS_IT_IS, "--cordon", node, "-o", "wide"],
        ["diff", "-A", AS_IT_IS, "--delete", f"node/{x}"],
        ["snapshot", "info"],
        ["snapshot", "info", "-o", "name"],
        ["explain", "-o", x],
        [f"--{x}"],
    ]


def hidden(text: str) -> set[str]:
    """Return the characters of a text that are invisible or have a side effect."""
    fillers = "\u3164\ufe0f\U000e0041\u2028\u2029"
    return {c for c in text if c != "\n" and (unicodedata.category(c)[0] == "C" or c in fillers)}


# A smaller name tells no more than the one that was found.
@settings(max_examples=5, deadline=None, phases=[Phase.explicit, Phase.generate])
@example(parts=list(NASTY), columns=0)
@given(parts=names, columns=st.sampled_from((0, 40)))
def test_nothing_that_is_printed_is_hidden(parts: list[str], columns: int) -> None:
    name = "".join(parts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        path.write_text(json.dumps(snapshot(name)))
        for command in commands(name):
            snapshots = [str(path)] if "info" in command else ["--snapshot", str(path)]
            printed = run(*command, *snapshots, columns=columns)
            assert printed.code in (0, 1, 2), (command, printed.err)
            assert not hidden(printed.out + printed.err), (command, printed)


@pytest.mark.parametrize("nasty", NASTY, ids=ascii)
def test_what_programs_read_is_what_the_snapshot_has(nasty: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(snapshot(nasty)))
    common = (AS_IT_IS, "--snapshot", str(path))
    printed = {form: run("explain", f"ns{nasty}/{nasty}high", *common, "-o", form) for form in FORMS}
    for form, text in printed.items():
        assert not hidden(text.out.replace("\t", "")) or form.startswith("jsonpath")
    assert json.loads(printed["json"].out)["pod"]["name"] == f"{nasty}high"
    assert yaml.safe_load(printed["yaml"].out)["pod"]["name"] == f"{nasty}high"
    # As kubectl: what a program cuts out is the name itself.
    assert printed["jsonpath={.pod.name}"].out == f"{nasty}high"


FORMS = ("json", "yaml", "jsonpath={.pod.name}")


@pytest.mark.parametrize("command", ["explain -A -o wide", "preempt -A", "volumes -A", "explain x", "verify"])
def test_newline_in_a_name_makes_no_line(command: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(snapshot("a\nerror: forged")))
    words = command.replace("-A", f"-A {AS_IT_IS}") if not command.startswith("volumes") else command
    printed = run(*words.replace(" x", " x\nerror:_forged").split(" "), "--snapshot", str(path))
    text = printed.out + printed.err
    assert r"\nerror:" in text
    assert not [line for line in text.splitlines() if line.strip().startswith(("error: forged", "error:_forged"))]


_MORE = ("a\nb", "\u202egpj", "%s", "é")


@pytest.mark.parametrize(
    "name",
    [
        "n1; touch x #",
        "$(touch x)",
        "`touch x`",
        "it's",
        'a"b',
        "a b",
        "-n",
        "*",
        "~",
        "\\n",
        "!!",
        "a\x1b[2Jb",
        *_MORE,
    ],
    ids=ascii,
)
def test_suggested_commands_ask_what_they_say(name: str, tmp_path: Path) -> None:
    path = tmp_path / "it is; here.json"
    path.write_text(json.dumps(snapshot(name)))
    pod = f"ns{name}/{name}high"
    printed = run("explain", pod, AS_IT_IS, "--snapshot", str(path)).out
    lines = [line.partition(": ")[2].strip() for line in printed.splitlines() if ": kschedctl " in line]
    assert lines
    for line in lines:
        words = _words(line, tmp_path)
        assert words[:2] in (["explain", pod], ["preempt", pod])
        assert words[words.index("--snapshot") + 1] == str(path)
        assert "--node" not in words or words[words.index("--node") + 1] in (name, f"{name}2", f"{name}3")
    assert not (tmp_path / "x").exists()


def _words(line: str, folder: Path) -> list[str]:
    """Return the arguments that a shell passes to the program."""
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    stub = bin_folder / "kschedctl"
    stub.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    stub.chmod(0o755)
    environment = {"PATH": f"{bin_folder}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    done = subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]

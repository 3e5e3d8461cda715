"""Output never controls a terminal, hides text, or runs when pasted, whatever a snapshot contains."""

import json
import subprocess
import tempfile
import unicodedata
from pathlib import Path

import pytest
import yaml
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from tests.cli.in_process import run
from tests.hostile_names import AS_IT_IS, NASTY, snapshot

names = st.lists(st.sampled_from((*NASTY, "web", "-1", "é", "日", "'", "; touch x #")), min_size=1, max_size=5)


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

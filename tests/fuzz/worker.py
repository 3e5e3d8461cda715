"""A fuzzer in a process of its own, with limits on memory and time.

``python -m tests.fuzz.worker TARGET SEED NUMBER SECONDS`` tries up to NUMBER inputs within SECONDS.

Every input is written to the file ``input`` of the working directory before it is read, so that an input that ends the
process can be inspected.
"""

import faulthandler
import io
import json
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.common.text.yaml import documents_by_events, yaml_documents
from kschedctl.linter.applied_fixes import apply_fixes
from kschedctl.linter.ignores import Baseline
from kschedctl.linter.lint_files import read_files
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, lint_files
from kschedctl.linter.settings import read_settings
from kschedctl.objects.kinds import CAPTURED_KINDS, FILE_KINDS
from kschedctl.objects.meta import ApiObject
from kschedctl.output.data_forms import as_json
from kschedctl.questions.batch.analysis import Decider
from kschedctl.questions.leader import analysis
from kschedctl.questions.lint.analysis import report
from kschedctl.questions.snapshot.analysis import snapshot_info
from kschedctl.questions.sweep.cases import read_plan
from kschedctl.questions.sweep.job import SweepJob
from kschedctl.scheduler.extenders.responses import binding_error, filter_answer, preemption_answer, priorities
from kschedctl.scheduler.extenders.transport import Response, _redirected, _split
from kschedctl.scheduler.framework.extender import ExtenderError
from kschedctl.sources.snapshot.capture import capture
from kschedctl.sources.snapshot.decoding import decode
from kschedctl.sources.snapshot.load import SnapshotReader, load_snapshot, read_manifest
from tests.builders import load_engine
from tests.cli.in_process import run as run_command
from tests.fuzz import seeds
from tests.fuzz.every_kind import COMMANDS, EVERY_KIND
from tests.fuzz.fields import VALUES, FieldPath, fields_of, with_value
from tests.fuzz.mutate import mutated

MEMORY: Final = 2 * 1024**3
#: The limit of CPU time per input, in seconds.
EACH: Final = 10
LONGEST_ERROR: Final = 50_000
FILE: Final = "input"


def read_file(content: bytes) -> None:
    """Read the content as a snapshot file and from standard input."""
    try:
        capture(SnapshotReader([FILE]))
    finally:
        load_snapshot(["-"], stdin=io.BytesIO(content))


def read_folder(content: bytes) -> None:
    """Read the content as a file of a folder, beside a valid file."""
    folder = Path("folder")
    folder.mkdir(exist_ok=True)
    (folder / "nodes.yaml").write_text(seeds.NODE)
    (folder / ("x.json" if content[:1] in (b"{", b"[") else "x.yaml")).write_bytes(content)
    try:
        load_snapshot(["folder"])
    finally:
        for path in folder.iterdir():
            path.unlink()


def explain_manifest(content: bytes) -> None:
    """Explain a pod with the content as its manifest."""
    read_manifest(FILE)
    load_engine("-", stdin=io.BytesIO(seeds.NODE.encode())).decide(Path(FILE))


def configure(content: bytes) -> None:
    """Read the content as a scheduler configuration."""
    load_engine("-", stdin=io.BytesIO(seeds.NODE.encode()), config=FILE)


def decide_case(content: bytes) -> None:
    """Read the content as a line of ``batch``."""
    answer, _ = Decider("", {}).answer((1, content))
    json.loads(answer)


def sweep(content: bytes) -> None:
    """Read the content as a plan, and run at most its first two cases."""
    job = SweepJob(read_plan(FILE), Path("plan"))
    job.folder.mkdir(exist_ok=True)
    (job.folder / "cluster.yaml").write_text(seeds.NODE)
    for number in range(1, min(len(job.read.cases), 2) + 1):
        error = job.row(number).error
        if "this is a bug" in error:
            raise AssertionError(error)
        json.dumps(job.configuration(number))


def read_yaml(content: bytes) -> None:
    """Read the content by lines and by libyaml's events, and check that documents and errors are equal."""
    found: list[list[object]] = []
    for documents in (yaml_documents, documents_by_events):
        found.append([])
        try:
            found[-1].extend(documents(content, FILE))
        except KschedctlError as error:
            found[-1].append(str(error))
    if found[0] != found[1]:
        raise AssertionError(f"{found[0]} is not {found[1]}")


def lint_file(content: bytes) -> None:
    """Lint the content as a manifest, print the findings as JSON, and apply all repairs."""
    read = read_files([FILE])
    InputError.raise_any(finding for error in read.errors for finding in error.findings)
    request = LintRequest(rules=[rule for rule in RULES if not rule.snapshot])
    found = lint_files(read.files, request)
    json.loads(as_json(report(found)))
    apply_fixes(found, partial(lint_files, request=request), unsafe=True)


def read_baseline(content: bytes) -> None:
    """Read the content as a baseline, and write what was read."""
    baseline = Baseline.read(FILE)
    baseline.split([])


def read_toml(content: bytes) -> None:
    """Read the content as the settings of lint in TOML."""
    Path("pyproject.toml").write_bytes(content)
    read_settings("pyproject.toml")


def decode_responses(content: bytes) -> None:
    """Decode the content as the responses of an extender, and follow it as the address of a redirect."""
    for answer_of in (filter_answer, priorities, preemption_answer, binding_error):
        with suppress(ExtenderError):
            answer_of(Response(200, content))
    with suppress(ExtenderError, OSError):
        _split(_redirected("POST", "http://127.0.0.1:1/filter", content.decode("latin-1")))


def simulate_election(content: bytes) -> None:
    """Read the content as an option of ``leader simulate`` and its value, and simulate what is not refused."""
    # What is not refused must end within the seconds of one input.
    analysis.MAX_ATTEMPTS = 100_000  # type: ignore[misc]
    option, _, text = content.decode(errors="surrogateescape").partition(" ")
    printed = run_command("leader", "simulate", f"--{option.strip('-')}={text}".replace("\0", ""))
    if printed.code not in (0, 1, 2):
        raise AssertionError(printed.err)


def summarise(content: bytes) -> None:
    """Read the content as a file of any layout in a folder, and report the use of each file."""
    folder = Path("layout")
    folder.mkdir(exist_ok=True)
    (folder / "nodes.yaml").write_text(seeds.NODE)
    for name in ("x.json", "x.yaml", "x.md", "x.b64"):
        (folder / name).write_bytes(content)
        try:
            json.dumps(snapshot_info(["layout"]).files_without_objects)
        finally:
            (folder / name).unlink()


def ask(content: bytes) -> None:
    """Run a command about a cluster in which one or two fields have odd values; the content is the seed of both."""
    chance = random.Random(content)
    objects = list(EVERY_KIND)
    for _ in range(chance.choice((1, 1, 2))):
        number = chance.randrange(len(objects))
        path = chance.choice(_fields(objects[number]["kind"]))
        changed = [with_value(objects[number], path, value) for value in VALUES]
        # Most values are of a wrong type, which reading refuses.
        objects[number] = chance.choice(chance.choice(([*filter(_is_read, changed)] or changed, changed)))
    Path(FILE).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    Path("manifest.json").write_text(json.dumps(objects[number]))
    command = chance.choice(COMMANDS)
    printed = run_command(*command.split(), "--snapshot", FILE)
    if printed.code not in (0, 1, 2, 3):
        raise AssertionError(f"{command}\n{printed.err}")


@cache
def _fields(kind: str) -> list[FieldPath]:
    return list(fields_of(_type(kind)))


@cache
def _type(kind: str) -> type[ApiObject]:
    return next(type_ for (_, name), type_ in {**CAPTURED_KINDS, **FILE_KINDS}.items() if name == kind)


def _is_read(obj: dict[str, Any]) -> bool:
    with suppress(KschedctlError):
        return bool(decode(obj, _type(obj["kind"])).name)
    return False


TARGETS: Final[dict[str, tuple[Callable[[bytes], Any], list[bytes]]]] = {
    "snapshots": (read_file, seeds.TEXTS),
    "folders": (read_folder, seeds.TEXTS),
    "archives": (read_file, seeds.archives()),
    "manifests": (explain_manifest, seeds.TEXTS[:4]),
    "configurations": (configure, [seeds.CONFIG.encode(), json.dumps({"profiles": [{}]}).encode()]),
    "batch": (decide_case, [seeds.CASE.encode()]),
    "plans": (sweep, [seeds.PLAN.encode()]),
    "lint": (lint_file, [text.encode() for text in seeds.LINTED]),
    "baselines": (read_baseline, [seeds.BASELINE.encode()]),
    "toml": (read_toml, [seeds.TOML.encode()]),
    "extenders": (decode_responses, [text.encode() for text in seeds.RESPONSES]),
    "durations": (simulate_election, [text.encode() for text in seeds.ELECTION_OPTIONS]),
    "layouts": (summarise, [text.encode() for text in seeds.LAYOUTS]),
    "fields": (ask, [b"a"]),
    "yaml": (read_yaml, [seeds.BLOCK.encode(), seeds.CONFIG.encode()]),
}


def run(target: str, seed: int, number: int, seconds: float) -> int:
    """Try up to ``number`` inputs within ``seconds``, and return the number tried."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    attempt, starts = TARGETS[target]
    # Splicing in snapshot texts combines the syntax of all kinds of input.
    others = starts + seeds.TEXTS
    end = time.monotonic() + seconds
    for i in range(number):
        if time.monotonic() > end:
            return i
        chance = random.Random(f"{target} {seed} {i}")
        content = mutated(chance.choice(starts), others, chance)
        Path(FILE).write_bytes(content)
        signal.setitimer(signal.ITIMER_PROF, EACH)
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                attempt(content)
        except KschedctlError as error:
            if len(str(error)) > LONGEST_ERROR:
                raise AssertionError(f"an error of {len(str(error))} characters") from error
        except BaseException:
            print(f"{target}, seed {seed}, input {i}", file=sys.stderr)
            raise
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return number


if __name__ == "__main__":
    name, first, most, limit = sys.argv[1:]
    print(run(name, int(first), int(most), float(limit)))

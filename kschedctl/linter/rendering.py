"""Rendering of kustomizations and charts, with the tools of the user: ``kustomize`` or ``kubectl``, and ``helm``."""

import os
import re
import shutil
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from kschedctl.common.errors import InputError
from kschedctl.common.text.characters import utf8_text
from kschedctl.linter.kustomization import NAMES, kustomizations, normal_path
from kschedctl.linter.kustomize_builds import Built
from kschedctl.linter.lint_files import LintFile, read_text, rendered_files
from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.rules.api_versions import stable_versions
from kschedctl.linter.unreadable_files import CHART, TEST_DATA
from kschedctl.linter.values import at, text
from kschedctl.objects.releases.release import LATEST, Release

#: The seconds after which a tool is ended.
_SECONDS: Final = 120
#: The folders of a chart that its output replaces.
_OF_CHART: Final = frozenset(("templates", "crds", "charts"))
_LOGGED: Final = re.compile(r'\berr=(?:"(.*)"|<\n(.*?)\n\s*>)', re.DOTALL)
#: The escapes of a quoted error.
_ESCAPED: Final = re.compile(r"\\([ntr\"\\])")
_CONTROL: Final = {"n": "\n", "t": "\t", "r": "\r"}
#: The parts of a folder's name that the name of a release cannot have, and the length of the longest release name.
_NO_NAME: Final = re.compile(r"^[^a-z0-9]+|[^a-z0-9-]+|-+$")
_LONGEST: Final = 40
#: The length of the longest error that is shown whole.
_LONGEST_ERROR: Final = 300
#: The beginnings of lines of tools that name no cause.
_NO_CAUSE: Final = ("#", "Use --debug flag")
_COMPONENT: Final = "Component"
_LIBRARY: Final = "library"


class Failure(NamedTuple):
    """A kustomization or chart that was not rendered, and the reason."""

    folder: str
    why: str


class _Source(NamedTuple):
    """A kustomization or chart: its file, and the files that its output replaces."""

    file: LintFile
    replaced: frozenset[str]


@dataclass(slots=True)
class Rendering:
    """The result of rendering."""

    #: The output, and the files that no output replaces.
    files: list[LintFile]
    #: The sources that were not rendered; their files are among `files`.
    failures: list[Failure] = field(default_factory=list)
    #: The number of sources that were rendered.
    n_rendered: int = 0


def render(files: Sequence[LintFile], namespace: str = "", release: Release = LATEST) -> Rendering:
    """Render the kustomizations and charts among files, except bases, components, subcharts and library charts.

    Those in folders named testdata are left as they are, too.

    Args:
        namespace: The namespace of the release of charts; empty for Helm's default.
        release: The release of Kubernetes; charts see its version and its API versions.
    """
    out = Rendering([])
    replaced: set[str] = set()
    manifests = LintManifests(files, namespace, kustomizations(files))
    for source in _kustomizations(files):
        output = _command_output(
            ["kustomize", "build", _path(source.file.folder)]
            if shutil.which("kustomize") is not None
            else ["kubectl", "kustomize", _path(source.file.folder)]
        )
        if isinstance(output, bytes):
            built = read_text(output, source.file.name, rendered=True)
            built.built = True
            built.origins, built.source_names = _origins(manifests, source.file)
            _take(out, [built], source, replaced)
        else:
            out.failures.append(Failure(source.file.folder, output))
    for source in _chart_sources(files):
        name = _NO_NAME.sub("", os.path.basename(os.path.abspath(source.file.folder)).lower())[:_LONGEST] or "release"
        words = ["helm", "template", name, _path(source.file.folder), "--include-crds"]
        words += ["--kube-version", f"{release.version}.0", "--api-versions", ",".join(stable_versions(release))]
        output = _command_output([*words, "--namespace", namespace] if namespace else words)
        if isinstance(output, bytes):
            _take(out, rendered_files(output, source.file.folder), source, replaced)
        else:
            out.failures.append(Failure(source.file.folder, output))
    out.files += [file for file in files if file.name not in replaced]
    return out


def _take(out: Rendering, files: Sequence[LintFile] | Iterator[LintFile], source: _Source, replaced: set[str]) -> None:
    out.files += files
    out.n_rendered += 1
    replaced |= source.replaced


def _origins(
    manifests: LintManifests, kustomization: LintFile
) -> tuple[dict[tuple[str, ...], LintObject], dict[str, str]]:
    """Return the objects from which a kustomization builds others, by the kind, namespace and name of these.

    The second value has the names of these objects in their files, by the names in the output that differ.
    """
    found: dict[tuple[str, ...], LintObject] = {}
    names: dict[str, set[str]] = defaultdict(set)
    builds = manifests.builds
    for resource in builds.resources(normal_path(kustomization.folder)) if builds is not None else ():
        namespace = text(at(resource.raw, "metadata", "namespace"))
        built = Built(resource.raw, changes=resource.changes)
        obj = manifests.objects[resource.source].as_built(built, manifests.namespace)
        names[resource.names[-1]].add(resource.names[0])
        for kind, name in product(resource.kinds, resource.names):
            found.setdefault((kind, namespace, name), obj)
            found.setdefault((kind, name), obj)
    # A name that objects of several names have in the output is kept.
    return found, {name: min(own) for name, own in names.items() if len(own) == 1 and name not in own}


def _path(folder: str) -> str:
    """Return a path that no tool takes for an option, whatever the name of the folder is."""
    return folder if os.path.isabs(folder) else os.path.join(".", folder)


def _command_output(words: Sequence[str]) -> bytes | str:
    """Return the output of a command, or the reason why there is none."""
    if shutil.which(words[0]) is None:
        return "helm is not installed" if words[0] == "helm" else "neither kustomize nor kubectl is installed"
    command = " ".join(words[:2])
    try:
        pipe = subprocess.PIPE
        with subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, start_new_session=True
        ) as process:
            try:
                output, errors = process.communicate(timeout=_SECONDS)
            except BaseException:
                # A child such as git would keep the pipes open.
                os.killpg(process.pid, signal.SIGKILL)
                raise
        if process.returncode == 0:
            return utf8_text(output, command)
    except subprocess.TimeoutExpired:
        return f"{command} took more than {_SECONDS} s"
    except (OSError, InputError) as error:
        return f"{command}: {error}"
    return f"{command}: {_error(errors.decode(errors='replace'))}"


def _error(printed: str) -> str:
    r"""Return the error in what a tool printed, from its end: tools write the cause last, after the steps to it.

    kubectl writes the error as a log line.

    >>> _error("# Warning: 'vars' is deprecated." + chr(10) + "Error: no such file" + chr(10))
    'no such file'
    >>> _error('E1123 04:43 20511 run.go:72] "command failed" err=<' + chr(10) + ' no such file' + chr(10) + ' >')
    'no such file'
    >>> _error('E1123 04:43 20511 run.go:72] "command failed" err="no file \\"a\\""')
    'no file "a"'
    >>> long = _error("Error: " + "accumulating resources: " * 20 + "no such file")
    >>> long[:20], long[-24:]
    ('... resources: accum', ' resources: no such file')
    """
    logged = _LOGGED.search(printed)
    said = printed
    if logged is not None:
        quoted = _ESCAPED.sub(lambda found: _CONTROL.get(found[1], found[1]), logged[1] or "")
        said = quoted or logged[2]
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith(_NO_CAUSE)]
    first = next((i for i, line in enumerate(lines) if line.lower().startswith("error")), 0)
    error = " ".join(lines[first:]).removeprefix("error:").removeprefix("Error:").strip() or "no message"
    end = error[-_LONGEST_ERROR:]
    return error if end == error else f"... {end.partition(' ')[2] or end}"


def _kustomizations(files: Sequence[LintFile]) -> Iterator[_Source]:
    known = {normal_path(file.name): file.name for file in files}
    own = {normal_path(file.folder): file for file in files if PurePath(file.name).name in NAMES and file.on_disk}
    named = {folder: {normal_path(os.path.join(folder, name)) for name in _texts(file)} for folder, file in own.items()}
    bases = {path for folder, paths in named.items() for path in paths if path != folder}
    for folder, file in own.items():
        is_component = any(at(document.value, "kind") == _COMPONENT for document in file.documents)
        if folder not in bases and not is_component and TEST_DATA not in PurePath(file.folder).parts:
            paths: set[str] = set()
            waiting = [folder]
            while waiting:
                path = waiting.pop()
                if path not in paths:
                    paths.add(path)
                    waiting += named.get(path, ())
            replaced = {known[path] for path in paths & known.keys()} | {own[path].name for path in paths & own.keys()}
            yield _Source(file, frozenset(replaced))


def _texts(file: LintFile) -> Iterator[str]:
    """Yield the texts of a kustomization that may be paths; an entry of a generator is ``KEY=PATH``."""
    waiting: list[Any] = [document.value for document in file.documents]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and "\n" not in value and "\0" not in value:
            yield value.rpartition("=")[2]


def _chart_sources(files: Sequence[LintFile]) -> Iterator[_Source]:
    own = [file for file in files if PurePath(file.name).name == CHART and file.on_disk]
    folders = {PurePath(file.folder) for file in own}
    for file in own:
        folder = PurePath(file.folder)
        is_library = any(at(document.value, "type") == _LIBRARY for document in file.documents)
        if is_library or TEST_DATA in folder.parts or not folders.isdisjoint(folder.parents):
            continue
        inside = (each.name for each in files if PurePath(each.name).is_relative_to(folder))
        replaced = (name for name in inside if PurePath(name).relative_to(folder).parts[0] in _OF_CHART)
        yield _Source(file, frozenset(replaced))

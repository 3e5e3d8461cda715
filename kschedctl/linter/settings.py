"""The settings of lint: the nearest ``.kschedctl.yaml``, or ``[tool.kschedctl.lint]`` in ``pyproject.toml``, upward."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import msgspec
from msgspec.structs import force_setattr

from kschedctl.common.errors import ConfigError, InputError
from kschedctl.common.findings import Position, Severity, field_path
from kschedctl.common.text.positions import yaml_position
from kschedctl.common.text.yaml import yaml_value
from kschedctl.common.wording import similar
from kschedctl.linter.selection import rules_of
from kschedctl.linter.values import TEMPLATES, Steps, at, steps_of
from kschedctl.sources.snapshot.files import file_bytes

FILE: Final = ".kschedctl.yaml"
_TOML: Final = "pyproject.toml"
#: The table of the settings in a TOML file.
_TABLE: Final = ("tool", "kschedctl", "lint")
#: The top-level key under which the settings may be nested.
_SECTION: Final = "lint"
_REPORT: Final = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`")
#: Beginnings of msgspec's error messages, with the problem to report.
_WRONG: Final = {
    "Expected `bool`": "is neither true nor false",
    "Expected `str`": "is not text",
    "Expected `array`": "is not a list",
    "Expected `object`": "is not a mapping",
    "Expected `date": "is not a date such as 2027-01-31",
    "Invalid enum value": "is not error, warning or info",
    "Invalid RFC3339": "is not a date such as 2027-01-31",
}


class _WrongValueError(ValueError):
    """A value that cannot be read: the problem, a hint, and the path in the value."""

    def __init__(self, problem: str, hint: str = "", inside: Steps = ()) -> None:
        super().__init__(problem)
        self.hint, self.inside = hint, inside


class _Mapping(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """A mapping of the settings; a string in place of a list is a list of one item."""


class SettingsIgnore(_Mapping, frozen=True, kw_only=True):
    """An ignore of the settings: a filter for findings to suppress, and the reason."""

    #: The codes of the rules, resolved from codes, beginnings of codes or names; empty for all rules.
    rules: tuple[str, ...] = ()
    #: Globs for kinds, namespaces, names and paths; empty matches all.
    kinds: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    #: The reason; required.
    reason: str = ""
    #: The last day of validity; ``None`` for unlimited.
    until: date | None = None

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise _WrongValueError("has no reason", "add reason: ...")
        force_setattr(self, "rules", _codes(self.rules, "rules"))


class PodTemplateOf(_Mapping, frozen=True, kw_only=True):
    """A custom kind with a pod template, and the path of the template."""

    kind: str = ""
    group: str = ""
    template: str = "spec.template"

    def __post_init__(self) -> None:
        if not self.kind:
            hint = "such as {group: example.com, kind: App}"
            raise _WrongValueError("has no kind; group and template are optional", hint)
        if self.type in TEMPLATES:
            raise _WrongValueError(f"{self.type} is built in")

    @property
    def type(self) -> str:
        """Group and kind, in the form of ``ManifestObject.type``."""
        return f"{self.group}/{self.kind}" if self.group else self.kind

    @property
    def steps(self) -> Steps:
        """The path of the template."""
        return tuple(step for step in self.template.split(".") if step)


class _Written(_Mapping, frozen=True, kw_only=True):
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    #: Severities by code of the rule, resolved from codes, beginnings of codes or names.
    severity: dict[str, Severity] = {}
    platform: str = ""
    complete: bool = False
    #: The codes of rules whose findings in files are suppressed, by glob of the files.
    per_path: dict[str, tuple[str, ...]] = {}
    ignores: tuple[SettingsIgnore, ...] = ()
    #: Globs of files and folders that are not read, unless a path names them.
    exclude: tuple[str, ...] = ()
    baseline: str = ""
    snapshot: tuple[str, ...] = ()
    #: The cluster in a snapshot that holds several, by its name or its path inside.
    cluster: str = ""
    plugins: tuple[str, ...] = ()
    pod_templates: tuple[PodTemplateOf, ...] = ()

    def __post_init__(self) -> None:
        for field in ("select", "extend_select", "ignore"):
            _codes(getattr(self, field), field.replace("_", "-"))
        codes = {word: _codes([word], "severity", word) for word in self.severity}
        force_setattr(self, "severity", {code: self.severity[word] for word in codes for code in codes[word]})
        rules = {glob: _codes(words, "per-path", glob) for glob, words in self.per_path.items()}
        force_setattr(self, "per_path", rules)


class Settings(_Written, frozen=True, kw_only=True):
    """The settings of a run."""

    #: The file of the settings; empty if there is none.
    file: str = ""
    #: The folder that paths in the settings are relative to.
    folder: Path = msgspec.field(default_factory=Path.cwd)
    #: The line of each of ``ignores`` in the file.
    lines: tuple[int, ...] = ()

    @property
    def ways_to_templates(self) -> dict[str, Steps]:
        """The path of the pod template, by group and kind."""
        return {each.type: each.steps for each in self.pod_templates}

    def relative(self, path: str) -> str:
        """Return a path of the settings joined to their folder; empty for an empty path."""
        return str(self.folder / path) if path else ""


#: The problem to report for an unknown key, and the mapping's type, by the mapping's path in the settings.
_KNOWN: Final[dict[str, tuple[str, type[_Mapping]]]] = {
    "": ("is not a setting", _Written),
    "ignores": ("is not a field of an ignore", SettingsIgnore),
    "pod-templates": ("is not a field of a pod template", PodTemplateOf),
}


def find_settings(start: Path) -> Path | None:
    """Return the nearest settings file in a folder or above it; ``None`` if there is none."""
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder / FILE
        toml = folder / _TOML
        if toml.is_file() and b"[tool.kschedctl.lint" in file_bytes(toml, ConfigError):
            return toml
    return None


def read_settings(path: str | Path) -> Settings:
    """Read settings.

    Raises ConfigError if the settings are invalid: an unknown key, with the nearest known key as a hint; an unknown
        rule; an ignore without a reason.
    """
    file = Path(path)
    content = file_bytes(path, ConfigError)
    section = ""
    if file.suffix == ".toml":
        name = str(path)
        try:
            found = tomllib.loads(content.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(str(error), where=name) from None
        except ValueError:
            raise ConfigError("a number has more than 4,300 digits", where=name) from None
        except RecursionError:
            raise ConfigError("is nested too deeply", where=name) from None
        for depth, step in enumerate(_TABLE, 1):
            found = found.get(step, {})
            if not isinstance(found, dict):
                hint = f"settings are in [{'.'.join(_TABLE)}]"
                raise ConfigError("is not a table", where=name, path=".".join(_TABLE[:depth]), hint=hint)
        value, content = found, b""
    else:
        try:
            value, _ = yaml_value(content, str(path))
        except InputError as error:
            raise ConfigError.together(error.findings) from None
        if isinstance(value, dict) and set(value) == {_SECTION} and isinstance(value[_SECTION], dict):
            value, section = value[_SECTION], f"{_SECTION}."

    def position(inside: str) -> Position | None:
        return yaml_position(content, section + inside) if content else None

    try:
        written = _converted({} if value is None else value)
    except _WrongValueError as error:
        inside = field_path(error.inside)
        place = position(inside)
        raise ConfigError(str(error), where=str(path), path=inside, hint=error.hint, position=place) from None
    places = [position(f"ignores[{i}]") for i in range(len(written.ignores))]
    lines = tuple(place.line if place is not None else 1 for place in places)
    return Settings(**msgspec.structs.asdict(written), file=str(path), folder=file.parent, lines=lines)


def _converted(value: Any) -> _Written:
    if not isinstance(value, dict):
        raise _WrongValueError("is not a mapping of settings")
    value = {str(key).replace("_", "-"): each for key, each in value.items()}
    if isinstance(value.get("pod-templates"), dict):
        value["pod-templates"] = [value["pod-templates"]]
    lists = _with_lists(value, _Written)
    try:
        return msgspec.convert(lists, _Written)
    except msgspec.ValidationError as error:
        report, cause = _REPORT.fullmatch(str(error)), error.__cause__
        problem, path = (report[1], report[2] or "") if report is not None else (str(error), "")
        steps = steps_of(value, _with_key(lists, path))
        if isinstance(cause, _WrongValueError):
            raise _WrongValueError(problem, cause.hint, (*steps, *cause.inside)) from None
        if (unknown := _UNKNOWN.fullmatch(problem)) is not None:
            what, mapping = _KNOWN[path.partition("[")[0]]
            known = mapping.__struct_encode_fields__
            close = similar(unknown[1], known)
            hint = f"did you mean {close[0]}?" if close else f"known names: {', '.join(known)}"
            raise _WrongValueError(f'"{unknown[1]}" {what}', hint, (*steps, unknown[1])) from None
        wrong = next((words for start, words in _WRONG.items() if problem.startswith(start)), problem)
        raise _WrongValueError(f"{at(value, *steps)!r} {wrong}", inside=steps) from None


def _with_lists(value: Any, type_: Any) -> Any:
    """Return a value in which each string is wrapped in a list wherever the type is a list."""
    if get_origin(type_) is tuple:
        listed = [value] if isinstance(value, str) else value
        return [_with_lists(each, get_args(type_)[0]) for each in listed] if isinstance(listed, list) else listed
    if not isinstance(value, dict):
        return value
    if get_origin(type_) is dict:
        return {key: _with_lists(each, get_args(type_)[1]) for key, each in value.items()}
    if not (isinstance(type_, type) and issubclass(type_, msgspec.Struct)):
        return value
    types = {field.encode_name: field.type for field in msgspec.structs.fields(type_)}
    return {key: _with_lists(each, types.get(key, str)) for key, each in value.items()}


def _with_key(value: Any, path: str) -> str:
    """Return a path with the key that msgspec leaves out of the paths of mappings: ``severity[...]``."""
    name, left_out, after = path.partition("[...]")
    for key, each in value[name].items() if left_out else ():
        try:
            msgspec.convert({name: {key: each}}, _Written)
        except msgspec.ValidationError:
            return f"{name}[{key}]{after}"
    return path


def _codes(words: Iterable[str], *inside: str) -> tuple[str, ...]:
    try:
        return tuple(rule.code for word in words for rule in rules_of(word))
    except InputError as error:
        (finding,) = error.findings
        raise _WrongValueError(finding.problem, finding.hint, inside) from None


def chosen_settings(path: str, paths: Sequence[str]) -> Settings:
    """Return the settings of a run: those at `path`, else the nearest upward from the first of `paths`.

    If there are none above the first of `paths`, the nearest upward from the current folder are used.

    Raises ConfigError if the settings are invalid, as for ``read_settings``.
    """
    if path:
        return read_settings(path)
    first = next((Path(each) for each in paths if each != "-"), Path())
    start = first if first.is_dir() else first.parent
    here = Path.cwd()
    found = find_settings(start.absolute()) or find_settings(here)
    if found is None:
        return Settings()
    # Use the path that the user would write, as it is shown in messages.
    return read_settings(found.relative_to(here) if found.is_relative_to(here) else found)

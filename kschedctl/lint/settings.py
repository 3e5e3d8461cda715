"""The settings of lint: ``.kschedctl.yaml``, or ``[tool.kschedctl.lint]`` in ``pyproject.toml``, the nearest upward."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

from kschedctl.api.wording import similar
from kschedctl.errors import ConfigError, InputError
from kschedctl.findings.finding import Severity
from kschedctl.findings.location import Position
from kschedctl.lint.context import PodTemplateOf
from kschedctl.lint.partial import TEMPLATES
from kschedctl.lint.selection import rules_of
from kschedctl.text.positions import yaml_position
from kschedctl.text.yaml import yaml_value

FILE: Final = ".kschedctl.yaml"
_TOML: Final = "pyproject.toml"
#: What the settings may stand under.
_SECTION: Final = "lint"
_OFF: Final = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsIgnore:
    """Findings that are left out, and why.

    Attributes
    ----------
    rules : tuple of str
        Codes; none for all.
    kinds, namespaces, names, paths : tuple of str
        Globs; none for any.
    reason : str
        Why.
    until : date or None
        The last day that it counts.
    line : int
        Where it stands in the file.
    """

    rules: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    reason: str
    until: date | None = None
    line: int = 1
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the settings say.

    Attributes
    ----------
    file : str
        Where they stand; empty for none.
    folder : Path
        What paths in them are relative to.
    per_path : mapping of str to tuple of str
        Rules that are not asked of files, by glob.
    """

    file: str = ""
    folder: Path = field(default_factory=Path.cwd)
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    platform: str = ""
    complete: bool = False
    per_path: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ignores: tuple[SettingsIgnore, ...] = ()
    baseline: str = ""
    snapshot: tuple[str, ...] = ()
    plugins: frozenset[str] = frozenset()
    pod_templates: tuple[PodTemplateOf, ...] = ()

    def relative(self, path: str) -> str:
        """A path of the settings, seen from here."""
        return str(self.folder / path) if path else ""


def find_settings(start: Path) -> Path | None:
    """The nearest settings upward from a folder."""
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder / FILE
        toml = folder / _TOML
        if toml.is_file() and b"[tool.kschedctl.lint" in toml.read_bytes():
            return toml
    return None


def read_settings(path: str | Path) -> Settings:
    """Read settings.

    Raises
    ------
    ConfigError
        Where something in them is wrong: a key that there is not, with the nearest one; a rule that there is not; an
        ignore without a reason.
    """
    file = Path(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if file.suffix == ".toml":
        return _Reader(str(path), b"", "").settings(_of_toml(content, str(path)), file.parent)
    try:
        value, _ = yaml_value(content, str(path))
    except InputError as error:
        raise ConfigError.together(error.findings) from None
    section = ""
    if isinstance(value, dict) and set(value) == {_SECTION} and isinstance(value[_SECTION], dict):
        value, section = value[_SECTION], _SECTION
    return _Reader(str(path), content, section).settings(value if value is not None else {}, file.parent)


def _of_toml(content: bytes, name: str) -> Any:
    try:
        found = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(str(error), where=name) from None
    return found.get("tool", {}).get("kschedctl", {}).get("lint", {})


class _Reader:
    """Reads the values, and says where one is wrong."""

    def __init__(self, name: str, content: bytes, section: str) -> None:
        self._name = name
        self._content = content
        self._section = section

    def _position(self, path: str) -> Position | None:
        if not self._content:
            return None
        return yaml_position(self._content, f"{self._section}.{path}" if self._section else path)

    def _error(self, path: str, problem: str, hint: str = "") -> ConfigError:
        return ConfigError(problem, where=self._name, path=path, hint=hint, position=self._position(path))

    def settings(self, value: Any, folder: Path) -> Settings:
        if not isinstance(value, dict):
            raise self._error("", "is no mapping of settings")
        known = {key.replace("_", "-"): key for key in Settings.__dataclass_fields__ if key not in ("file", "folder")}
        read: dict[str, Any] = {}
        for key, given in value.items():
            name = known.get(str(key).replace("_", "-"))
            if name is None:
                close = similar(str(key), known)
                hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
                raise self._error(str(key), f'"{key}" is no setting', hint)
            read[name] = getattr(self, f"_{name}")(given, key)
        return replace(Settings(file=self._name, folder=folder), **read)

    def _texts(self, given: Any, path: str) -> tuple[str, ...]:
        values = given if isinstance(given, list) else [given]
        if not all(isinstance(value, str) for value in values):
            raise self._error(path, f"{given!r} is no text, nor a list of texts")
        return tuple(values)

    def _text(self, given: Any, path: str) -> str:
        if not isinstance(given, str):
            raise self._error(path, f"{given!r} is no text")
        return given

    def _words(self, given: Any, path: str) -> tuple[str, ...]:
        words = self._texts(given, path)
        for word in words:
            self._codes(word, path)
        return words

    def _codes(self, word: str, path: str) -> tuple[str, ...]:
        try:
            return tuple(rule.code for rule in rules_of(word))
        except InputError as error:
            (finding,) = error.findings
            raise self._error(path, finding.problem, finding.hint) from None

    _select = _extend_select = _ignore = _words
    _platform = _baseline = _text
    _snapshot = _texts

    def _complete(self, given: Any, path: str) -> bool:
        if not isinstance(given, bool):
            raise self._error(path, f"{given!r} is neither true nor false")
        return given

    def _plugins(self, given: Any, path: str) -> frozenset[str]:
        return frozenset(self._texts(given, path))

    def _mapping(self, given: Any, path: str) -> Mapping[str, Any]:
        if not isinstance(given, dict):
            raise self._error(path, f"{given!r} is no mapping")
        return given

    def _severity(self, given: Any, path: str) -> dict[str, Severity]:
        found: dict[str, Severity] = {}
        for word, severity in self._mapping(given, path).items():
            if severity not in list(Severity):
                raise self._error(f"{path}.{word}", f"{severity!r} is none of error, warning and info")
            found |= dict.fromkeys(self._codes(str(word), f"{path}.{word}"), Severity(severity))
        return found

    def _per_path(self, given: Any, path: str) -> dict[str, tuple[str, ...]]:
        found = {}
        for glob, words in self._mapping(given, path).items():
            named = self._texts(words, f"{path}[{glob}]")
            found[str(glob)] = tuple(code for word in named for code in self._codes(word, f"{path}[{glob}]"))
        return found

    def _pod_templates(self, given: Any, path: str) -> tuple[PodTemplateOf, ...]:
        found = []
        for i, one in enumerate(given if isinstance(given, list) else [given]):
            at = f"{path}[{i}]"
            entry = self._mapping(one, at)
            kind = entry.get("kind")
            if not isinstance(kind, str) or not set(entry) <= {"group", "kind", "template"}:
                raise self._error(
                    at, "needs kind, and may have group and template", "such as {group: example.com, kind: App}"
                )
            group = self._text(entry.get("group", ""), f"{at}.group")
            template = self._text(entry.get("template", "spec.template"), f"{at}.template")
            type_ = f"{group}/{kind}" if group else kind
            if type_ in TEMPLATES:
                raise self._error(at, f"{type_} is known")
            found.append(PodTemplateOf(type_, tuple(step for step in template.split(".") if step)))
        return tuple(found)

    def _ignores(self, given: Any, path: str) -> tuple[SettingsIgnore, ...]:
        if not isinstance(given, list):
            raise self._error(path, f"{given!r} is no list")
        return tuple(self._one_ignore(one, f"{path}[{i}]") for i, one in enumerate(given))

    def _one_ignore(self, given: Any, path: str) -> SettingsIgnore:
        entry = self._mapping(given, path)
        known = ("rules", "kinds", "namespaces", "names", "paths", "reason", "until")
        for key in entry:
            if key not in known:
                close = similar(str(key), known)
                hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
                raise self._error(f"{path}.{key}", f'"{key}" is nothing that an ignore has', hint)
        reason = entry.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            raise self._error(path, "has no reason", "say why: reason: ...")
        globs = {key: self._texts(entry.get(key, []), f"{path}.{key}") for key in known[1:5]}
        rules = self._texts(entry.get("rules", []), f"{path}.rules")
        position = self._position(path)
        return SettingsIgnore(
            rules=tuple(code for word in rules for code in self._codes(word, f"{path}.rules")),
            **globs,
            reason=reason,
            until=self._until(entry.get("until"), f"{path}.until"),
            line=position.line if position is not None else 1,
            where=self._name,
        )

    def _until(self, given: Any, path: str) -> date | None:
        if given is None or isinstance(given, date):
            return given
        try:
            return date.fromisoformat(str(given))
        except ValueError:
            raise self._error(path, f"{given!r} is no date such as 2027-01-31") from None


def chosen_settings(path: str, paths: Sequence[str]) -> Settings:
    """The settings that count: those of a path that is given, else the nearest upward from what is linted.

    Raises
    ------
    ConfigError
        As ``read_settings``.
    """
    if path:
        return read_settings(path)
    first = next((Path(each) for each in paths if each != "-"), Path())
    start = first if first.is_dir() else first.parent
    here = Path.cwd()
    found = find_settings(start.absolute()) or find_settings(here)
    if found is None:
        return Settings()
    # Shown as the user would name it.
    shown = found.relative_to(here) if found.is_relative_to(here) else found
    return read_settings(shown)

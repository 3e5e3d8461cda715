"""Loading of a KubeSchedulerConfiguration, with the same errors as kube-scheduler."""

import binascii
import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeVar

import msgspec
from msgspec import UNSET, inspect

from kschedctl.common.errors import ConfigError, InputError
from kschedctl.common.findings import Finding
from kschedctl.common.text.tree import Fields, repeated_in_yaml
from kschedctl.common.text.yaml import yaml_documents
from kschedctl.common.wording import listed, similar
from kschedctl.objects.defaults import DEFAULT_SCHEDULER_NAME
from kschedctl.objects.duration import Duration
from kschedctl.objects.field_errors import go_json
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.config.profile import Implements, Profile, ProfileBuilder
from kschedctl.scheduler.framework.config.types import (
    API_VERSION,
    ARGS,
    KIND,
    ConfigStruct,
    ExtenderConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    NodeResourcesFitArgs,
    PluginConfig,
    RawArgs,
    default_args,
    with_release_defaults,
)
from kschedctl.scheduler.framework.config.validation import Problems, child, queue_sort_args, validate, validate_args
from kschedctl.scheduler.framework.extension_point import ExtensionPoint

# Strict decoding of plain data (JSON values) to configuration types, as in kube-scheduler's decoder.
#
# Names are case-sensitive. Unknown and repeated fields are problems. Values are not converted (``"1"``, ``1.0`` and
# ``true`` are not integers), and integers must fit their type. ``null`` is the same as an omitted field, except for
# durations. All problems are collected, whereas kube-scheduler stops at the first wrong type.

T = TypeVar("T", bound=msgspec.Struct)

_MAX_FLOAT32: Final = 3.4028235677973366e38
_INT32: Final = (-(2**31), 2**31 - 1)


class Decoder:
    """A decoder of objects that collects the problems.

    Args:
        absent: Fields that do not exist in the release.
    """

    def __init__(self, problems: Problems, absent: frozenset[str]) -> None:
        self._problems = problems
        self._absent = absent

    def struct(self, data: Any, cls: type[T], path: str) -> T:
        """Decode an object; record invalid fields as problems and omit them."""
        if not isinstance(data, Mapping):
            self._record_type_error(path, "object", data)
            return cls()
        for name in data.repeated if isinstance(data, Fields) else ():
            self._problems.add(child(path, name), "duplicate field")
        fields = _fields(cls)
        zero_means_default: frozenset[str] = getattr(cls, "zero_means_default", frozenset())
        values: dict[str, Any] = {}
        for name, value in data.items():
            field = fields.get(name)
            if field is None or name in self._absent:
                self._problems.add(child(path, name), "unknown field")
                continue
            decoded = self._value(value, field.type, child(path, name))
            if decoded is not UNSET and (decoded or field.name not in zero_means_default):
                values[field.name] = decoded
        for field in fields.values():
            if field.required and field.name not in values:
                values[field.name] = ""
        return cls(**values)

    def _value(self, data: Any, type_: inspect.Type, path: str) -> Any:
        """Decode a value; return ``UNSET`` if it is absent or invalid."""
        match type_:
            case inspect.UnionType(types=types):
                wanted = next(type_ for type_ in types if not isinstance(type_, inspect.NoneType))
                return UNSET if data is None else self._value(data, wanted, path)
            case inspect.StructType(cls=cls) if cls is Duration:
                return self._duration("" if data is None else data, path)
            case inspect.AnyType():
                return data
        return UNSET if data is None else self._present(data, type_, path)

    def _present(self, data: Any, type_: inspect.Type, path: str) -> Any:
        match type_:
            case inspect.StructType(cls=cls):
                return self.struct(data, cls, path)
            case inspect.VarTupleType(item_type=item_type):
                return self._array(data, item_type, path)
            case inspect.DictType():
                return self._texts(data, path)
            case inspect.BoolType():
                return data if isinstance(data, bool) else self._record_type_error(path, "bool", data)
            case inspect.StrType():
                return data if isinstance(data, str) else self._record_type_error(path, "string", data)
            case inspect.BytesType():
                return self._bytes(data, path)
            case inspect.FloatType():
                number = isinstance(data, int | float) and not isinstance(data, bool) and abs(data) < _MAX_FLOAT32
                return float(data) if number else self._record_type_error(path, "float32", data)
            case inspect.IntType(ge=ge, le=le):
                low, high = _INT32 if ge is None or le is None else (ge, le)
                whole = isinstance(data, int) and not isinstance(data, bool) and low <= data <= high
                return data if whole else self._record_type_error(path, "int64" if high > _INT32[1] else "int32", data)
            case _:
                raise TypeError(f"no rule to decode {type_}")

    def _array(self, data: Any, item_type: inspect.Type, path: str) -> Any:
        if not isinstance(data, list | tuple):
            return self._record_type_error(path, "array", data)
        items = [self._item(item, item_type, f"{path}[{i}]") for i, item in enumerate(data)]
        return tuple(item for item in items if item is not UNSET)

    def _texts(self, data: Any, path: str) -> Any:
        if not isinstance(data, Mapping):
            return self._record_type_error(path, "object", data)
        texts = {key: self._item(value, inspect.StrType(), f"{path}[{key}]") for key, value in data.items()}
        return {key: text for key, text in texts.items() if text is not UNSET}

    def _item(self, data: Any, type_: inspect.Type, path: str) -> Any:
        """Decode a list item; ``null`` becomes an empty object or string."""
        if data is None:
            return self.struct({}, type_.cls, path) if isinstance(type_, inspect.StructType) else ""
        return self._value(data, type_, path)

    def _duration(self, data: Any, path: str) -> Any:
        if not isinstance(data, str):
            return self._record_type_error(path, "string", data)
        try:
            return Duration.parse(data)
        except ValueError as error:
            self._problems.add(path, str(error))
            return UNSET

    def _bytes(self, data: Any, path: str) -> Any:
        if not isinstance(data, str):
            return self._record_type_error(path, "string", data)
        import base64

        try:
            return base64.b64decode(data.replace("\r", "").replace("\n", ""), validate=True)
        except binascii.Error:
            self._problems.add(path, "illegal base64 data")
            return UNSET

    def _record_type_error(self, path: str, wanted: str, data: Any) -> Any:
        """Record a value of a wrong type; booleans, strings and numbers are named with the value itself."""
        match data:
            case bool():
                found = f"bool {go_json(data)}"
            case str():
                found = f"string {go_json(data)}"
            case int() | float():
                found = f"number {data}"
            case _:
                found = "object" if isinstance(data, Mapping) else "null" if data is None else "array"
        self._problems.add(path, f"expected {wanted}, got {found}")
        return UNSET


@functools.cache
def _fields(cls: type[msgspec.Struct]) -> dict[str, inspect.Field]:
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    return {field.encode_name: field for field in info.fields}


#: In-tree plugins of some release that do not affect the scheduling of a single pod.
_NOT_ASKED: Final = ("DeferredPodScheduling", "GangScheduling", "PodGroupPodsCount", "TopologyPlacementGenerator")
_GROUP: Final = API_VERSION.partition("/")[0]
#: The valid ``apiVersion`` values of plugin args; an empty one stands for the version of the configuration.
_ARGS_VERSIONS: Final = ("", "/", f"{_GROUP}/", API_VERSION)


#: The args type of each plugin, by plugin name.
ArgsTypes = Mapping[str, type[ConfigStruct]]


@dataclass(frozen=True, slots=True)
class SchedulerConfiguration:
    """A loaded and validated scheduler configuration, with resolved profiles.

    Attributes
    ----------
    profiles : mapping of str to Profile
        The profiles by scheduler name, in the order of the file.
    extenders : tuple of ExtenderConfig
        The extenders in calling order: ignorable extenders come last.
    percentage_of_nodes_to_score : int
        The percentage; 0 means that the scheduler computes it from the number of nodes.
    settings : KubeSchedulerConfiguration
        The whole configuration as written, with defaults: leader election, backoff, parallelism.
    warnings : tuple of str
        Warnings about settings with a surprising effect, such as overriding a default plugin.
    """

    profiles: Mapping[str, Profile]
    extenders: tuple[ExtenderConfig, ...]
    percentage_of_nodes_to_score: int
    settings: KubeSchedulerConfiguration
    warnings: tuple[str, ...]


def default_configuration(release: Release, implements: Implements) -> SchedulerConfiguration:
    """Return the configuration that kube-scheduler runs with if it is given none."""
    return load_configuration({"apiVersion": API_VERSION, "kind": KIND}, release=release, implements=implements)


def load_configuration(
    data: bytes | Mapping[str, Any],
    *,
    release: Release,
    implements: Implements,
    args_types: ArgsTypes = MappingProxyType({}),
    where: str = "",
) -> SchedulerConfiguration:
    """Load and validate a KubeSchedulerConfiguration.

    Certificates of extenders are not checked, because their files are on the scheduler's machine.

    Args:
        data: JSON or YAML text (only the first document is used), or the decoded object.
        release: The kube-scheduler release that the configuration is for.
        implements: The existing plugins, in-tree and out-of-tree, and the extension points they implement.
        args_types: The args types of out-of-tree plugins; args of plugins without a type are kept as written.
        where: The file name, for error messages.

    Raises ConfigError if kube-scheduler would not start with the configuration. Problems are reported by stage:
        first all decoding problems, then all invalid values, then all plugin problems.
    """
    inert = {
        name: frozenset(map(ExtensionPoint, points))
        for name, points in release.inert_plugins.items()
        if name not in implements
    }
    implements = {**implements, **inert}
    document = _parse_document(data, where) if isinstance(data, bytes) else data
    problems, warnings = Problems(), list[str]()
    config, args = _decode(document, release, {**args_types, **ARGS}, problems, where)
    problems.raise_if_any(where)
    problems.note(*validate(config, release))
    for i, profile in enumerate(config.profiles):
        for j, (plugin_config, own) in enumerate(zip(profile.plugin_config, args[i], strict=True)):
            # NodeResourcesFit validates its own args when it is instantiated (``ProfileBuilder``).
            if plugin_config.name != "NodeResourcesFit":
                problems.note(*validate_args(own, f"profiles[{i}].pluginConfig[{j}].args", release))
    problems.raise_if_any(where)
    ignored = tuple(
        resource.name
        for extender in config.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    profiles = []
    own_defaults = {name: type_() for name, type_ in args_types.items()}
    for i, profile in enumerate(config.profiles):
        given = {plugin_config.name: own for plugin_config, own in zip(profile.plugin_config, args[i], strict=True)}
        effective = {**own_defaults, **default_args(release), **given}
        fit = effective["NodeResourcesFit"]
        if ignored and isinstance(fit, NodeResourcesFitArgs):
            # Resources managed by extenders replace the configured ones.
            effective["NodeResourcesFit"] = msgspec.structs.replace(fit, ignored_resources=ignored)
        share = profile.percentage_of_placements_to_score
        share = config.percentage_of_placements_to_score if share is None else share
        builder = ProfileBuilder(
            msgspec.structs.replace(profile, percentage_of_placements_to_score=share),
            effective,
            f"profiles[{i}]",
            release=release,
            implements=implements,
            inert=frozenset(inert),
            problems=problems,
            warnings=warnings,
        )
        profiles.append(builder.build())
        warnings += _unknown_plugins(profile, f"profiles[{i}]", implements)
    problems.raise_if_any(where)
    _check_queue_sort(config.profiles, profiles, problems)
    problems.raise_if_any(where)
    return SchedulerConfiguration(
        profiles=MappingProxyType({profile.scheduler_name: profile for profile in profiles}),
        extenders=tuple(sorted(config.extenders, key=lambda extender: extender.ignorable)),
        percentage_of_nodes_to_score=config.percentage_of_nodes_to_score,
        settings=config,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _parse_document(text: bytes, where: str) -> Any:
    """Parse the first document of a text; text that begins with a brace is JSON, as for kube-scheduler."""
    try:
        if text.lstrip().startswith(b"{"):
            return json.loads(text, object_pairs_hook=Fields, parse_constant=_no_constant)
        _, document = next(yaml_documents(text, where), (1, b"null"))
        problems = Problems()
        for _, (steps, position) in repeated_in_yaml(text, last=1):
            # A field path cannot distinguish two keys of the same name, so the finding has a line.
            if position is not None:
                problem = f'key "{steps[-1]}" already set in map'
                problems.note(Finding(problem, f"line {position.line}", position=position))
        problems.raise_if_any(where)
        return json.loads(document)
    except InputError as error:
        raise ConfigError.together(error.findings) from None
    except ValueError as error:
        raise ConfigError(f"is not JSON: {error}", where=where) from None
    except RecursionError:
        raise ConfigError("is nested too deeply", where=where) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _decode(
    document: Any, release: Release, args_types: ArgsTypes, problems: Problems, where: str
) -> tuple[KubeSchedulerConfiguration, list[list[msgspec.Struct]]]:
    """Return the configuration, and for each profile the args in its pluginConfig with defaults filled in."""
    if not isinstance(document, Mapping):
        raise ConfigError("is not an object", where=where, hint=f"a {KIND} of {API_VERSION} is expected")
    for name in ("kind", "apiVersion"):
        value = document.get(name)
        if not isinstance(value, str) or not value:
            expected = KIND if name == "kind" else API_VERSION
            raise ConfigError("Required value", where=where, path=name, hint=f"{expected} is expected")
    kind, version = document["kind"], document["apiVersion"]
    if version != API_VERSION or kind != KIND:
        problem = f'no kind "{kind}" is registered for version "{version}"'
        raise ConfigError(problem, where=where, hint=f"a {KIND} of {API_VERSION} is expected")
    decoder = Decoder(problems, release.absent_config_fields)
    config = decoder.struct(_without_type(document), KubeSchedulerConfiguration, "")
    if len(config.profiles) == 1 and config.profiles[0].scheduler_name is None:
        named = msgspec.structs.replace(config.profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME)
        config = msgspec.structs.replace(config, profiles=(named,))
    args = [
        [
            _decode_args(plugin_config, args_types, f"profiles[{i}].pluginConfig[{j}].args", decoder, problems, release)
            for j, plugin_config in enumerate(profile.plugin_config)
        ]
        for i, profile in enumerate(config.profiles)
    ]
    return config, args


def _decode_args(
    plugin_config: PluginConfig,
    args_types: ArgsTypes,
    path: str,
    decoder: Decoder,
    problems: Problems,
    release: Release,
) -> msgspec.Struct:
    """Decode a plugin's args; if in-tree args state their ``kind`` or ``apiVersion``, these must be correct."""
    cls, data = args_types.get(plugin_config.name), plugin_config.args
    if cls is None or plugin_config.name in release.plugins_without_args:
        return RawArgs(data)
    if data is None:
        return with_release_defaults(cls(), release)
    if isinstance(data, Mapping):
        kind, version = data.get("kind") or cls.__name__, data.get("apiVersion") or ""
        in_tree = plugin_config.name in ARGS
        if in_tree and (version not in _ARGS_VERSIONS or kind != cls.__name__):
            text = f"{go_json(kind)} of version {go_json(version)} is not {cls.__name__} of {API_VERSION}"
            problems.add(path, text)
        data = _without_type(data)
    return with_release_defaults(decoder.struct(data, cls, path), release)


def _without_type(data: Mapping[str, Any]) -> Mapping[str, Any]:
    plain = Fields([(name, value) for name, value in data.items() if name not in ("apiVersion", "kind")])
    plain.repeated = data.repeated if isinstance(data, Fields) else ()
    return plain


def _unknown_plugins(profile: KubeSchedulerProfile, path: str, implements: Implements) -> Iterator[str]:
    """Yield a warning for each configured or disabled plugin that does not exist; kube-scheduler accepts these."""
    for i, config in enumerate(profile.plugin_config):
        if config.name not in implements:
            yield f"{path}.pluginConfig[{i}]: there is no plugin {go_json(config.name)}; its args have no effect"
    for point in ("multiPoint", *ExtensionPoint):
        for i, plugin in enumerate(profile.plugins.at(point).disabled):
            if plugin.name not in {"*", *implements, *_NOT_ASKED}:
                close = similar(plugin.name, implements)
                meant = f" (did you mean {listed(close, 'or')}?)" if close else ""
                where = f"{path}.plugins.{point}.disabled[{i}]"
                yield f"{where}: there is no plugin {go_json(plugin.name)}{meant}; disabling it has no effect"


def _check_queue_sort(written: Sequence[KubeSchedulerProfile], profiles: Sequence[Profile], problems: Problems) -> None:
    """Record profiles whose queue sort plugin or its args differ from the first, as all profiles share one queue."""
    first = profiles[0].plugins[ExtensionPoint.QUEUE_SORT][0]
    first_args = go_json(queue_sort_args(written[0], first))
    for i, profile in enumerate(profiles[1:], start=1):
        name, own = profile.scheduler_name, profile.plugins[ExtensionPoint.QUEUE_SORT][0]
        if own != first:
            text = f'different queue sort plugins for profile "{name}": "{own}", first: "{first}"'
            problems.add(f"profiles[{i}].plugins.queueSort", text)
        elif go_json(queue_sort_args(written[i], own)) != first_args:
            problems.add(f"profiles[{i}].pluginConfig", f'different queue sort plugin args for profile "{name}"')

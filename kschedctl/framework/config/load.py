"""Reading a KubeSchedulerConfiguration as kube-scheduler reads it, with all its refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NoReturn

import msgspec

from kschedctl.api.defaults import DEFAULT_SCHEDULER_NAME
from kschedctl.api.field_errors import go_json
from kschedctl.api.wording import listed, similar
from kschedctl.errors import ConfigError, InputError
from kschedctl.findings.finding import Finding
from kschedctl.framework.config.args import (
    ARGS,
    NodeResourcesFitArgs,
    RawArgs,
    default_args,
    with_release_defaults,
)
from kschedctl.framework.config.args_validation import validate_args
from kschedctl.framework.config.decode import Decoder
from kschedctl.framework.config.problems import Problems
from kschedctl.framework.config.profile import Implements, Profile, ProfileBuilder
from kschedctl.framework.config.types import (
    API_VERSION,
    KIND,
    ConfigStruct,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginConfig,
)
from kschedctl.framework.config.validation import queue_sort_args, validate
from kschedctl.framework.extension_point import ExtensionPoint
from kschedctl.releases.release import Release
from kschedctl.text.repeated_keys import Fields, repeated_in_yaml
from kschedctl.text.yaml import yaml_documents

#: In-tree plugins of some release that take no part in deciding for a single pod.
_NOT_ASKED: Final = ("DeferredPodScheduling", "GangScheduling", "PodGroupPodsCount", "TopologyPlacementGenerator")
_GROUP: Final = API_VERSION.partition("/")[0]
#: What a plugin's args may say of their version; without one they have that of the configuration.
_ARGS_VERSIONS: Final = ("", "/", f"{_GROUP}/", API_VERSION)


#: By plugin what its args are read as.
ArgsTypes = Mapping[str, type[ConfigStruct]]


@dataclass(frozen=True, slots=True)
class SchedulerConfiguration:
    """A configuration, read, checked and worked out.

    Attributes
    ----------
    profiles : mapping of str to Profile
        By scheduler name, in the order of the file.
    extenders : tuple of Extender
        In the order in which they are called: those that may be ignored come last.
    percentage_of_nodes_to_score : int
        0 stands for the percentage that the scheduler works out from the number of nodes.
    settings : KubeSchedulerConfiguration
        Everything as written, with defaults: leader election, backoff, parallelism.
    warnings : tuple of str
        What is taken otherwise than one may think, such as a default plugin that is configured anew.
    """

    profiles: Mapping[str, Profile]
    extenders: tuple[Extender, ...]
    percentage_of_nodes_to_score: int
    settings: KubeSchedulerConfiguration
    warnings: tuple[str, ...]


def default_configuration(release: Release, implements: Implements) -> SchedulerConfiguration:
    """What kube-scheduler runs with where no configuration is given."""
    return load_configuration({"apiVersion": API_VERSION, "kind": KIND}, release=release, implements=implements)


def load_configuration(
    data: bytes | Mapping[str, Any],
    *,
    release: Release,
    implements: Implements,
    args_types: ArgsTypes = MappingProxyType({}),
    where: str = "",
) -> SchedulerConfiguration:
    """Read and check a KubeSchedulerConfiguration.

    Certificates of extenders are not looked at: their files are on the scheduler's machine.

    Parameters
    ----------
    data : bytes or mapping
        JSON or YAML text (of several documents the first counts), or the object already read.
    release : Release
        The kube-scheduler that it is for.
    implements : mapping of str to frozenset of ExtensionPoint
        The plugins that there are, also those that are not in-tree, and the extension points they implement.
    args_types : mapping of str to type
        What the arguments of plugins that are not in-tree are read as; of the others they are kept as written.
    where : str
        The file, for errors.

    Raises
    ------
    ConfigError
        For everything that kube-scheduler refuses to start with. Problems of one kind are reported together: first
        those of reading, then those of the values, then those of the plugins.
    """
    inert = {
        name: frozenset(map(ExtensionPoint, points))
        for name, points in release.inert_plugins.items()
        if name not in implements
    }
    implements = {**implements, **inert}
    document = _parse(data, where) if isinstance(data, bytes) else data
    problems, warnings = Problems(), list[str]()
    config, args = _decode(document, release, {**args_types, **ARGS}, problems, where)
    problems.raise_if_any(where)
    validate(config, problems)
    for i, profile in enumerate(config.profiles):
        for j, (plugin_config, own) in enumerate(zip(profile.plugin_config, args[i], strict=True)):
            # NodeResourcesFit is not looked at before it is made.
            if plugin_config.name != "NodeResourcesFit":
                validate_args(own, f"profiles[{i}].pluginConfig[{j}].args", release, problems)
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
        builder = ProfileBuilder(
            profile,
            _with_ignored_resources({**own_defaults, **default_args(release), **given}, ignored),
            f"profiles[{i}]",
            release=release,
            implements=implements,
            inert=frozenset(inert),
            problems=problems,
            warnings=warnings,
        )
        profiles.append(builder.build())
        warnings += _unknown_plugin_configs(profile, f"profiles[{i}]", implements)
        warnings += _unknown_disabled(profile, f"profiles[{i}]", implements)
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


def _parse(text: bytes, where: str) -> Any:
    """The first document of a text as plain data; as for kube-scheduler, JSON is what begins with a brace."""
    try:
        if text.lstrip().startswith(b"{"):
            return json.loads(text, object_pairs_hook=Fields, parse_constant=_no_constant)
        _, document = next(yaml_documents(text, where), (1, b"null"))
        _refuse_repeated_keys(text, where)
        return json.loads(document)
    except InputError as error:
        raise ConfigError.together(error.findings) from None
    except ValueError as error:
        raise ConfigError(f"is no JSON: {error}", where=where) from None
    except RecursionError:
        raise ConfigError("is nested too deeply", where=where) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _refuse_repeated_keys(text: bytes, where: str) -> None:
    """YAML readers let the last of repeated keys win; kube-scheduler does not."""
    problems = Problems()
    for _, (steps, position) in repeated_in_yaml(text, last=1):
        # No path tells two keys of one name apart.
        if position is not None:
            problem = f'key "{steps[-1]}" already set in map'
            problems.note(Finding(problem, f"line {position.line}", position=position))
    problems.raise_if_any(where)


def _decode(
    document: Any, release: Release, args_types: ArgsTypes, problems: Problems, where: str
) -> tuple[KubeSchedulerConfiguration, list[list[msgspec.Struct]]]:
    """The configuration, and per profile the args in its pluginConfig with their defaults."""
    _check_type(document, where)
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


def _check_type(document: Any, where: str) -> None:
    """Refuse what is no KubeSchedulerConfiguration of a version that there is."""
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


def _decode_args(
    plugin_config: PluginConfig,
    args_types: ArgsTypes,
    path: str,
    decoder: Decoder,
    problems: Problems,
    release: Release,
) -> msgspec.Struct:
    """A plugin's args; they may say of what type they are, and must be right then where they are in-tree."""
    cls, data = args_types.get(plugin_config.name), plugin_config.args
    if cls is None or plugin_config.name in release.plugins_without_args:
        return RawArgs(data)
    if data is None:
        return with_release_defaults(cls(), release)
    if isinstance(data, Mapping):
        kind, version = data.get("kind") or cls.__name__, data.get("apiVersion") or ""
        in_tree = plugin_config.name in ARGS
        if in_tree and (version not in _ARGS_VERSIONS or kind != cls.__name__):
            text = f"{go_json(kind)} of version {go_json(version)} is no {cls.__name__} of {API_VERSION}"
            problems.add(path, text)
        data = _without_type(data)
    return with_release_defaults(decoder.struct(data, cls, path), release)


def _without_type(data: Mapping[str, Any]) -> Mapping[str, Any]:
    plain = Fields([(name, value) for name, value in data.items() if name not in ("apiVersion", "kind")])
    plain.repeated = data.repeated if isinstance(data, Fields) else ()
    return plain


def _with_ignored_resources(args: Mapping[str, msgspec.Struct], ignored: tuple[str, ...]) -> dict[str, msgspec.Struct]:
    """What extenders look after replaces the resources that NodeResourcesFit is told to ignore."""
    fit = args["NodeResourcesFit"]
    if not ignored or not isinstance(fit, NodeResourcesFitArgs):
        return dict(args)
    return {**args, "NodeResourcesFit": msgspec.structs.replace(fit, ignored_resources=ignored)}


def _unknown_plugin_configs(profile: KubeSchedulerProfile, path: str, implements: Implements) -> Iterator[str]:
    for i, config in enumerate(profile.plugin_config):
        if config.name not in implements:
            yield f"{path}.pluginConfig[{i}]: there is no plugin {go_json(config.name)}; its args have no effect"


def _unknown_disabled(profile: KubeSchedulerProfile, path: str, implements: Implements) -> Iterator[str]:
    """What is disabled although there is no such plugin: kube-scheduler takes it without a word."""
    for point in ("multiPoint", *ExtensionPoint):
        for i, plugin in enumerate(profile.plugins.at(point).disabled):
            if plugin.name not in {"*", *implements, *_NOT_ASKED}:
                close = similar(plugin.name, implements)
                meant = f" (did you mean {listed(close, 'or')}?)" if close else ""
                where = f"{path}.plugins.{point}.disabled[{i}]"
                yield f"{where}: there is no plugin {go_json(plugin.name)}{meant}; disabling it has no effect"


def _check_queue_sort(written: Sequence[KubeSchedulerProfile], profiles: Sequence[Profile], problems: Problems) -> None:
    """All profiles share one queue, so they must order it alike."""
    first = profiles[0].plugins[ExtensionPoint.QUEUE_SORT][0]
    first_args = go_json(queue_sort_args(written[0], first))
    for i, profile in enumerate(profiles[1:], start=1):
        name, own = profile.scheduler_name, profile.plugins[ExtensionPoint.QUEUE_SORT][0]
        if own != first:
            text = f'different queue sort plugins for profile "{name}": "{own}", first: "{first}"'
            problems.add(f"profiles[{i}].plugins.queueSort", text)
        elif go_json(queue_sort_args(written[i], own)) != first_args:
            problems.add(f"profiles[{i}].pluginConfig", f'different queue sort plugin args for profile "{name}"')

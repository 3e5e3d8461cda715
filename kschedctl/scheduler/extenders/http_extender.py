"""An extender of the configuration, called over HTTP (upstream ``HTTPExtender``)."""

import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from kschedctl.common.errors import ConfigError, InputError
from kschedctl.controllers.workloads.template import uid_of
from kschedctl.objects.core import Node
from kschedctl.objects.duration import Duration
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.extenders.responses import (
    SentBackNode,
    binding_error,
    filter_answer,
    preemption_answer,
    priorities,
)
from kschedctl.scheduler.extenders.transport import Response, Transport
from kschedctl.scheduler.framework.config.load import SchedulerConfiguration
from kschedctl.scheduler.framework.config.types import ExtenderConfig, ExtenderTLSConfig
from kschedctl.scheduler.framework.extender import Extender, ExtenderError, ExtenderFilterResult, MetaVictims, Victims
from kschedctl.sources.live.credentials import why_unreadable
from kschedctl.sources.snapshot.files import file_bytes
from kschedctl.sources.snapshot.original_objects import OriginalObjects

# TLS for extenders: server verification and client certificates (``tlsConfig`` and ``enableHTTPS``).


def tls_context(config: ExtenderConfig, path: str, where: str = "") -> ssl.SSLContext:
    """Return the TLS context for connections to an extender.

    Args:
        path, where: The extender's path in the configuration, and the configuration's file, for errors.

    Raises ConfigError if a certificate or key cannot be read.

    As in kube-scheduler, the address selects the protocol, not ``enableHTTPS``. Without a certificate authority,
    ``enableHTTPS`` disables server verification.
    """
    tls = config.tls_config or ExtenderTLSConfig()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    has_authority = bool(tls.ca_data or tls.ca_file)
    if tls.insecure or (config.enable_https and not has_authority):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    path = f"{path}.tlsConfig"
    try:
        if has_authority:
            authority = _bytes(tls.ca_data, tls.ca_file, f"{path}.caFile")
            name = "caData" if tls.ca_data else "caFile"
            _load_certificate(lambda: context.load_verify_locations(cadata=authority.decode("ascii")), f"{path}.{name}")
        else:
            context.load_default_certs()
        if (tls.cert_data or tls.cert_file) and (tls.key_data or tls.key_file):
            certificate = _bytes(tls.cert_data, tls.cert_file, f"{path}.certFile")
            key = _bytes(tls.key_data, tls.key_file, f"{path}.keyFile")
            _load_certificate(lambda: _load_chain(context, certificate, key), path)
    except ConfigError as error:
        raise ConfigError.together(error.findings).at(where) from None
    return context


def _bytes(data: bytes, file: str, path: str) -> bytes:
    if data:
        return data
    try:
        return file_bytes(file)
    except InputError as error:
        hint = "the certificates of called extenders are read on this machine, not on the scheduler's"
        raise ConfigError(f"{file} {error.findings[0].problem}", path=path, hint=hint) from None


def _load_chain(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # load_cert_chain reads only files. The temporary folder is accessible to its owner only.
    with TemporaryDirectory() as folder:
        files = Path(folder, "certificate"), Path(folder, "key")
        for file, content in zip(files, (certificate, key), strict=True):
            file.write_bytes(content)
        # An empty password prevents a prompt for encrypted keys.
        context.load_cert_chain(*files, password="")


def _load_certificate(load: Callable[[], None], path: str) -> None:
    try:
        load()
    except (OSError, ValueError) as error:
        # ssl.SSLError is a subclass of OSError.
        raise ConfigError(f"has no readable certificate or key: {why_unreadable(error)}", path=path) from None


_DEFAULT_TIMEOUT: Final = Duration.seconds(5)


class HTTPExtender(Extender):
    """An extender that is called over HTTP.

    Args:
        config: The extender's address, verbs and options.
        written: The manifests of nodes and pods, including fields that scheduling does not read.
        binds: True if the extender really binds pods.
        path, where: The extender's path in the configuration, and the configuration's file, for errors.

    Raises ConfigError if a certificate or key cannot be read. The constructor sends no request.
    """

    def __init__(
        self,
        config: ExtenderConfig,
        written: OriginalObjects | None = None,
        *,
        binds: bool = False,
        path: str = "extenders",
        where: str = "",
    ) -> None:
        super().__init__(config, binds=binds)
        self._written = written if written is not None else OriginalObjects()
        seconds = (config.http_timeout or _DEFAULT_TIMEOUT).nanoseconds / 1e9
        server_name = config.tls_config.server_name if config.tls_config is not None else ""
        self._transport = Transport(seconds, tls_context(config, path, where), server_name)

    def filter(self, pod: Pod, nodes: Sequence[Node]) -> ExtenderFilterResult:
        answer = filter_answer(self._send(self.config.filter_verb, self._filter_arguments(pod, nodes)))
        if answer.error:
            raise ExtenderError(answer.error)
        failed = answer.failed, answer.failed_and_unresolvable
        if self.config.node_cache_capable and answer.node_names is not None:
            known = {node.name for node in nodes}
            unknown = next((name for name in answer.node_names if name not in known), None)
            if unknown is not None:
                claim = f'claims a filtered node "{unknown}" which is not found in the input node list'
                raise ExtenderError(f'extender "{self.name}" {claim}')
            return ExtenderFilterResult(answer.node_names, {}, *failed)
        # Without nodes and names in the response, no node passes.
        left = {node.name: node for node in answer.nodes or ()}
        return ExtenderFilterResult(tuple(left), left, *failed)

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> Sequence[tuple[str, int]]:
        return priorities(self._send(self.config.prioritize_verb, self._filter_arguments(pod, nodes)))

    def process_preemption(self, pod: Pod, victims: Mapping[str, Victims]) -> Mapping[str, MetaVictims]:
        cached = self.config.node_cache_capable
        by_node = {
            name: {
                "Pods": [{"UID": uid_of(each)} if cached else self._json(each) for each in found.pods],
                "NumPDBViolations": found.num_pdb_violations,
            }
            for name, found in victims.items()
        }
        about = {
            "Pod": self._json(pod),
            "NodeNameToVictims": None if cached else by_node,
            "NodeNameToMetaVictims": by_node if cached else None,
        }
        return preemption_answer(self._send(self.config.preempt_verb, about))

    def bind(self, pod: Pod, node_name: str) -> None:
        metadata = pod.metadata
        about = {"PodName": metadata.name, "PodNamespace": metadata.namespace, "PodUID": uid_of(pod), "Node": node_name}
        error = binding_error(self._send(self.config.bind_verb, about))
        if error:
            raise ExtenderError(error)

    def _filter_arguments(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, Any]:
        """Return the arguments of ``filter`` and ``prioritize``."""
        if self.config.node_cache_capable:
            return {"Pod": self._json(pod), "Nodes": None, "NodeNames": [node.name for node in nodes]}
        items = [self._json(node) for node in nodes]
        return {"Pod": self._json(pod), "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}

    def _json(self, obj: ApiObject) -> dict[str, Any]:
        if isinstance(obj, SentBackNode):
            sent: dict[str, Any] = msgspec.json.decode(obj.text)
            return sent
        whole = self._written.of(obj)
        if isinstance(obj, Pod):
            # Extenders identify pods by uid.
            whole.setdefault("metadata", {}).setdefault("uid", uid_of(obj))
        return whole

    def _send(self, verb: str, about: dict[str, Any]) -> Response:
        """Send the request of a verb.

        Raises ExtenderError if there is no response, or its status is not 200.
        """
        url = f"{self.config.url_prefix.rstrip('/')}/{verb}"
        response = self._transport.post(url, msgspec.json.encode(about))
        if response.status != 200:
            raise ExtenderError(f"failed {verb} with extender at URL {url}, code {response.status}")
        return response


def http_extenders(
    configuration: SchedulerConfiguration,
    written: OriginalObjects | None = None,
    *,
    binds: bool = False,
    where: str = "",
) -> tuple[HTTPExtender, ...]:
    """Return the extenders of a configuration, in the order in which they are called.

    Args:
        where: The configuration's file, for errors.

    Raises ConfigError if an extender's certificate or key cannot be read.
    """
    as_written = configuration.settings.extenders
    return tuple(
        HTTPExtender(config, written, binds=binds, path=f"extenders[{as_written.index(config)}]", where=where)
        for config in configuration.extenders
    )

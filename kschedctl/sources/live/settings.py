"""Client settings of a context: the official client's configuration of server, certificates and credentials."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from kschedctl.common.errors import ClusterError, InputError
from kschedctl.common.extras import install_command
from kschedctl.sources.live.credentials import Credentials, Header, check_certificates, file_or_data, impersonation
from kschedctl.sources.live.failures import cause_of
from kschedctl.sources.live.kubeconfig import (
    DEFAULT_FILE,
    ClusterEntry,
    Entry,
    LiveContext,
    UserEntry,
    kubeconfig_files,
    read_kubeconfigs,
)
from kschedctl.sources.live.limits import READING_FACTOR, within

# Addresses of servers and proxies, validated before anything is sent to them.
#
# The official client does not validate them: tests/live/test_kubeconfig.py::test_address and
# tests/live/test_kubeconfig.py::test_what_is_wrong_is_named.

_SERVER_SCHEMES: Final = ("http", "https")


def server_address(cluster: Entry[ClusterEntry]) -> str:
    """Return the address of a cluster's server, with a scheme.

    As in kubectl, an address without a scheme gets ``https`` if the cluster entry has TLS settings (a certificate
    authority or ``insecure-skip-tls-verify``), else ``http``.

    Raises InputError if the address is missing or not valid.
    """
    given = cluster.value.server
    if not given:
        raise cluster.error("is missing", "server")
    of_tls = cluster.value.certificate_authority or cluster.value.certificate_authority_data
    scheme = "https" if of_tls or cluster.value.insecure_skip_tls_verify else "http"
    address = given if "://" in given else f"{scheme}://{given}"
    _check_address(cluster, "server", address, _SERVER_SCHEMES)
    return address.rstrip("/")


def proxy_address(cluster: Entry[ClusterEntry]) -> str:
    """Return the address of the proxy to a cluster; empty if there is no proxy.

    Raises InputError if the address is not valid, or its scheme is none of http, https, socks5 and socks5h.
    """
    address = cluster.value.proxy_url
    if address:
        _check_address(cluster, "proxy-url", address, (*_SERVER_SCHEMES, "socks5", "socks5h"))
    return address


def _check_address(cluster: Entry[ClusterEntry], field: str, address: str, schemes: tuple[str, ...]) -> None:
    from urllib3.exceptions import LocationValueError
    from urllib3.util import parse_url

    expected = f"an address such as {schemes[-1] if len(schemes) == 2 else schemes[0]}://HOST:PORT is expected"
    try:
        if not address.isprintable() or " " in address:
            raise ValueError
        url = parse_url(address)
        (url.host or "").strip("[]").encode("idna")
    except (LocationValueError, ValueError):
        raise cluster.error(f"{address!a} is not an address", field, expected) from None
    if url.scheme not in schemes or not url.host or url.query is not None or url.fragment is not None:
        raise cluster.error(f"{address!a} is not a usable address", field, expected)


IN_CLUSTER: Final = "in-cluster"
_GIVE_SNAPSHOT: Final = "give --snapshot with a file, a folder or an archive, or set KSCHEDCTL_SNAPSHOT"
_ONE: Final = "one"


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The client settings of a context."""

    #: The name of the context.
    name: str
    #: The official client's configuration: server, certificates, and the credentials that the client manages.
    configuration: Any
    #: Returns the value of the header ``Authorization``; an empty text if the official client manages it.
    authorization: Callable[[], str] = str
    #: The impersonation headers, as names and values.
    impersonated: tuple[Header, ...] = ()

    def headers(self) -> list[Header]:
        """Return the headers for authentication and impersonation; renew an expired token."""
        own = self.authorization()
        if own:
            return [("authorization", own), *self.impersonated]
        found: dict[str, Any] = self.configuration.auth_settings()
        theirs = [(each["key"], str(each["value"]).strip()) for each in found.values() if each["in"] == "header"]
        return [*theirs, *self.impersonated]

    def pool(self) -> Any:
        """Return the connection pool of the server, a ``urllib3.PoolManager``.

        Raises InputError if the kubeconfig or the environment names a proxy that cannot be used.
        """
        from kubernetes.client import ApiClient
        from urllib3 import disable_warnings
        from urllib3.exceptions import DependencyWarning, HTTPError

        # A missing dependency is reported below.
        disable_warnings(DependencyWarning)
        try:
            return ApiClient(self.configuration).rest_client.pool_manager
        except ImportError:
            problem = f"the proxy {self.configuration.proxy} needs a package that is not installed"
            raise InputError(problem, hint="pip install pysocks") from None
        except (HTTPError, ValueError) as error:
            problem = f"the proxy {self.configuration.proxy} cannot be used: {error}"
            raise InputError(problem, hint="check HTTPS_PROXY and HTTP_PROXY in the environment") from None


def client_settings(live: LiveContext) -> ClientSettings:
    """Return the settings for a context: the server and the credentials, including exec and OIDC plugins.

    Raises InputError if the official client is not installed, or the kubeconfig or the context is missing or not
        valid.
    Raises ClusterError if no cluster is configured, or a login fails.
    """
    try:
        from kubernetes.client import Configuration
    except ImportError:
        raise InputError(
            "reading a running cluster needs the Kubernetes client, which is not installed",
            hint=install_command("live") + (f", or {_GIVE_SNAPSHOT}" if live.snapshot_would_do else ""),
        ) from None
    files = kubeconfig_files(live.kubeconfig)
    configuration = Configuration()
    if not files:
        from kubernetes.config import ConfigException, load_incluster_config

        if live.context:
            raise InputError(f"there is no context {live.context}: no kubeconfig was found", path="--context")
        try:
            load_incluster_config(client_configuration=configuration)
        except (ConfigException, OSError, UnicodeDecodeError):
            raise ClusterError(
                f"no cluster is configured: $KUBECONFIG is not set, and there is no {DEFAULT_FILE}",
                hint=f"{f'{_GIVE_SNAPSHOT}, or ' if live.snapshot_would_do else ''}name a kubeconfig with --kubeconfig",
            ) from None
        pod = Entry(live.impersonating(UserEntry()), IN_CLUSTER, "user")
        return ClientSettings(IN_CLUSTER, configuration, impersonated=tuple(impersonation(pod)))
    configs = read_kubeconfigs(files)
    name, context = configs.chosen(live.context)
    cluster, user = configs.cluster(context), configs.user(context)
    user = replace(user, value=live.impersonating(user.value))
    seconds = live.request_seconds * READING_FACTOR or None
    entry: dict[str, Any] = {
        "server": server_address(cluster),
        "insecure-skip-tls-verify": cluster.value.insecure_skip_tls_verify,
        "tls-server-name": cluster.value.tls_server_name,
        "proxy-url": proxy_address(cluster),
    }
    authority = cluster.value.certificate_authority, cluster.value.certificate_authority_data
    entry |= file_or_data(cluster, "certificate-authority", *authority)
    entry = {field: given for field, given in entry.items() if given}
    credentials = Credentials(user, cluster, seconds)
    provider = credentials.provider
    own = {**credentials.certificates, **({"auth-provider": provider} if provider else {})}
    _load_kubeconfig(configuration, entry, own, user, seconds)
    if entry["server"].startswith("https:"):
        check_certificates(configuration, user, cluster)
    if provider and not configuration.api_key:
        raise ClusterError(
            f"{user.file}: {user.path}.auth-provider: the login with {provider['name']} returned no token"
        )
    return ClientSettings(name, configuration, credentials.authorization, credentials.impersonated)


def _load_kubeconfig(
    configuration: Any, cluster: dict[str, Any], own: dict[str, Any], user: Entry[UserEntry], seconds: float | None
) -> None:
    """Load a kubeconfig with one validated cluster and one validated user into the official client's configuration."""
    from kubernetes.config import ConfigException, load_kube_config_from_dict
    from oauthlib.oauth2 import OAuth2Error
    from requests import RequestException
    from urllib3.exceptions import HTTPError

    given = {
        "current-context": _ONE,
        "contexts": [{"name": _ONE, "context": {"cluster": _ONE, "user": _ONE}}],
        "clusters": [{"name": _ONE, "cluster": cluster}],
        "users": [{"name": _ONE, "user": own}],
    }

    load = partial(load_kube_config_from_dict, given, context=_ONE, client_configuration=configuration)
    try:
        if "auth-provider" in own:
            # The renewal of a token sends a request to a server, for which the official client would wait forever:
            # tests/live/test_kubeconfig.py::test_login_that_hangs_is_given_up.
            within(seconds, load, f"{user.file}: {user.path}.auth-provider: the login did not end")
        else:
            load()
    except (ConfigException, OAuth2Error, RequestException, HTTPError) as error:
        raise ClusterError(f"{user.file}: {user.path}: the login failed: {cause_of(error)}") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise user.error(f"cannot be used: {error}", "auth-provider") from None

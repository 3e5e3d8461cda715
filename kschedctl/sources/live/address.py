"""Addresses of servers and proxies, validated before anything is sent to them.

The official client does not validate them: tests/live/test_kubeconfig.py::test_address and
tests/live/test_kubeconfig.py::test_what_is_wrong_is_named.
"""

from __future__ import annotations

from typing import Final

from kschedctl.sources.live.kubeconfig import ClusterEntry, Entry

_SERVER_SCHEMES: Final = ("http", "https")
_SOCKS_SCHEMES: Final = ("socks5", "socks5h")


def server_address(cluster: Entry[ClusterEntry]) -> str:
    """Return the address of a cluster's server, with a scheme.

    As in kubectl, an address without a scheme gets ``https`` if the cluster entry has TLS settings (a certificate
    authority or ``insecure-skip-tls-verify``), else ``http``.

    Raises
    ------
    InputError
        If the address is missing or not valid.
    """
    given = cluster.value.server
    if not given:
        raise cluster.error("is missing", "server")
    of_tls = cluster.value.certificate_authority or cluster.value.certificate_authority_data
    scheme = "https" if of_tls or cluster.value.insecure_skip_tls_verify else "http"
    address = given if "://" in given else f"{scheme}://{given}"
    _check(cluster, "server", address, _SERVER_SCHEMES)
    return address.rstrip("/")


def proxy_address(cluster: Entry[ClusterEntry]) -> str:
    """Return the address of the proxy to a cluster; empty if there is no proxy.

    Raises
    ------
    InputError
        If the address is not valid, or its scheme is none of http, https, socks5 and socks5h.
    """
    address = cluster.value.proxy_url
    if address:
        _check(cluster, "proxy-url", address, (*_SERVER_SCHEMES, *_SOCKS_SCHEMES))
    return address


def _check(cluster: Entry[ClusterEntry], field: str, address: str, schemes: tuple[str, ...]) -> None:
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

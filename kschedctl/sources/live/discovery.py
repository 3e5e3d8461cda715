"""The version of an API server, and the path at which it lists each kind that is relevant for scheduling."""

from typing import Final, NamedTuple

import msgspec

from kschedctl.common.errors import ClusterError
from kschedctl.objects.kinds import LISTED_KINDS
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.live.api_server import Connection
from kschedctl.sources.live.failures import ForbiddenError, NotServedError

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


class Served(NamedTuple):
    """A kind that the server serves."""

    #: The name of the kind's type, such as ``Pod``.
    kind: str
    #: The Python type of its objects.
    type_: type[ApiObject]
    #: The name of the resource in paths, such as ``pods``.
    plural: str
    #: The path that lists the objects of all namespaces.
    path: str

    def within(self, namespace: str) -> "Served":
        """Return the kind with the path that lists the objects of one namespace."""
        before, _, resource = self.path.rpartition("/")
        return self._replace(path=f"{before}/namespaces/{namespace}/{resource}")


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""


class _Resource(msgspec.Struct, frozen=True, rename="camel"):
    resource: str
    response_kind: _Kind | None = None
    verbs: tuple[str, ...] = ()


class _Version(msgspec.Struct, frozen=True):
    version: str
    resources: tuple[_Resource, ...] = ()


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""


class _Group(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    versions: tuple[_Version, ...] = ()


class _Groups(msgspec.Struct, frozen=True):
    kind: str
    items: tuple[_Group, ...] = ()


_DECODER: Final = msgspec.json.Decoder(_Groups)


def served_kinds(connection: Connection) -> list[Served]:
    """Return the kinds of ``LISTED_KINDS`` that the server serves, each in the server's preferred version.

    Raises ClusterError if discovery fails or the server is older than Kubernetes 1.27, which has no aggregated
        discovery.
    """
    found: dict[tuple[str, str], Served] = {}
    for root in ("/api", "/apis"):
        try:
            answer = _DECODER.decode(connection.get(root, accept=_AGGREGATED))
        except (ForbiddenError, NotServedError) as error:
            raise ClusterError(f"{connection.host} does not report its kinds: {error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ClusterError(f"{connection.host}{root} does not respond like an API server: {error}") from None
        if answer.kind != "APIGroupDiscoveryList":
            raise ClusterError(
                f"{connection.host} is older than Kubernetes 1.27, the oldest version that kschedctl can read"
            )
        for group in answer.items:
            for version in group.versions:
                for resource in version.resources:
                    key = group.metadata.name, resource.response_kind.kind if resource.response_kind else ""
                    if key in LISTED_KINDS and "list" in resource.verbs:
                        place = f"{root}/{key[0]}".rstrip("/")
                        path = f"{place}/{version.version}/{resource.resource}"
                        type_ = LISTED_KINDS[key]
                        found.setdefault(key, Served(type_.__name__, type_, resource.resource, path))
    return [found[key] for key in LISTED_KINDS if key in found]


# The version of the control plane.

_LONGEST: Final = 100


class _ServerVersionVersion(msgspec.Struct, rename="camel"):
    git_version: str = ""


#: The decoder of versions, created before threads use it.
_SERVER_VERSION_DECODER: Final = msgspec.json.Decoder(_ServerVersionVersion)


def server_version(connection: Connection) -> str:
    """Return the server's version, such as ``v1.36.3``; empty if the server does not report a version.

    Raises ClusterError if the server cannot be reached or is not an API server.
    """
    try:
        version = _SERVER_VERSION_DECODER.decode(connection.get("/version")).git_version
    except (ForbiddenError, NotServedError):
        # Some proxies block the path; the versions of the kubelets are used instead.
        return ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ClusterError(f"{connection.host} does not respond like an API server: {error}") from None
    # The version is printed without escaping: discard a text that cannot be a version.
    return version if version.isprintable() and len(version) <= _LONGEST else ""

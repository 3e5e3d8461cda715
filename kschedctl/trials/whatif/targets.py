"""Lookup of the objects that an edit names, and errors with hints for objects that do not exist."""

import re
from fnmatch import translate
from typing import Final, TypeVar

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.text.patterns import pattern
from kschedctl.common.wording import listed, near, similar
from kschedctl.objects.core import Namespace, Node
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.kinds import cannot_be_listed, is_namespaced, kind_by_name, kind_names, without_kind
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.names import label_value_problems, qualified_name_problems
from kschedctl.objects.pod import EFFECTS
from kschedctl.objects.well_known import ZONE, zone_of
from kschedctl.trials.whatif.edit import Thing

T = TypeVar("T", bound=ApiObject)
#: The characters that distinguish a glob from a name; no node name can contain them.
_WILDCARD: Final = pattern(r"[*?[]")


def is_pattern(name: str) -> bool:
    """Report whether a text is a glob, not the name of one node."""
    return _WILDCARD.search(name) is not None


def find_nodes(cluster: Cluster, name: str) -> list[int]:
    """Return the rows of the nodes that match a name or a glob, in the order of the cluster.

    Raises InputError if no node matches.
    """
    name, names = without_kind(name, Node), cluster.nodes.names
    wildcard = _WILDCARD.search(name)
    if wildcard is None:
        return [cluster.nodes.find(name)]
    matches = re.compile(translate(name)).match
    rows = [row for row, known in enumerate(names) if matches(known)]
    if not rows:
        # The text before the wildcard is compared with prefixes of the same length of the node names.
        start = name[: wildcard.start()]
        close = similar(start, dict.fromkeys(known[: len(start)] for known in names)) if start else []
        meant = [known for known in names if known[: len(start)] in close]
        hint = f"did you mean {listed(meant, 'or')}?" if meant else near(start, names, "nodes")
        raise InputError(f"the cluster has no node that matches {name}", hint=hint)
    return rows


def find_zone(cluster: Cluster, zone: str) -> list[int]:
    """Return the rows of the nodes in a zone, by the zone label or its deprecated beta form.

    Raises InputError if the cluster has no such zone.
    """
    labels = [node.metadata.labels for node in cluster.nodes.objects]
    zones = [zone_of(own) for own in labels]
    rows = [row for row, found in enumerate(zones) if found == zone]
    if not zone or not rows:
        known = sorted({found for found in zones if found})
        hint = f"the zones are {listed(known)}" if known else f"no node has the label {ZONE}"
        raise InputError(f'the cluster has no node in zone "{zone}"', hint=hint)
    return rows


def known_namespaces(cluster: Cluster) -> set[str]:
    """Return the namespaces of the cluster, and those that only its pods show."""
    return {each.name for each in cluster.list(Namespace)} | {namespace for namespace, _ in cluster.pods.index}


def require_namespace(cluster: Cluster, namespace: str) -> None:
    """Require that the cluster has a namespace, or a pod in it.

    Args:
        namespace: The name; empty for all namespaces.

    Raises InputError if the cluster has neither.
    """
    if not namespace or cluster.is_forbidden(Namespace):
        return
    known = known_namespaces(cluster)
    if known and namespace not in known:
        close = similar(namespace, sorted(known))
        hint = f"did you mean {listed(close, 'or')}?" if close else f"it has {listed(sorted(known))}"
        raise InputError(f"the snapshot has no namespace {namespace}", path="--namespace", hint=hint)


def find_kind(name: str) -> type[ApiObject]:
    """Return the kind with this name: singular, plural or short, as kubectl accepts it.

    Raises InputError if no kind that is read has that name.
    """
    kind = kind_by_name(name, custom=True)
    if kind is None:
        close = dict.fromkeys(_full_name(other) for other in similar(name.lower(), kind_names()))
        known = sorted({_full_name(other) for other in kind_names()})
        hint = f"did you mean {listed(list(close), 'or')}?" if close else f"the kinds are {', '.join(known)}"
        raise InputError(f'"{name}" is not a kind that kschedctl reads', hint=hint)
    return kind


def _full_name(name: str) -> str:
    kind = kind_by_name(name)
    return kind.__name__.lower() if kind is not None else name


def find_object(cluster: Cluster, kind: type[T], name: str) -> T:
    """Return the object of a kind that is named ``namespace/name``, or by its name alone if the kind has no namespaces.

    Raises InputError if there is none.
    """
    namespace, _, own = name.rpartition("/")
    key = (namespace or DEFAULT_NAMESPACE) if is_namespaced(kind) else "", own
    found = cluster.get(kind, own, key[0])
    if found is None:
        raise not_found(cluster, kind, key, {(each.namespace, each.name) for each in cluster.list(kind)})
    return found


def not_found(cluster: Cluster, kind: type[ApiObject], key: tuple[str, str], known: set[tuple[str, str]]) -> InputError:
    """Return the error for an object that does not exist, with a hint that lists similar existing objects.

    If the kind could not be listed, the error says that instead.

    Args:
        key: The namespace, empty for cluster-scoped kinds, and the name.
    """
    shown = "/".join(part for part in key if part)
    if cluster.is_forbidden(kind, key[0]):
        return InputError(f"{cannot_be_listed(kind.__name__)}, so {kind.__name__} {shown} is not known")
    elsewhere = sorted(f"{namespace}/{name}" for namespace, name in known if name == key[1])
    if elsewhere:
        hint = f"did you mean {listed(elsewhere, 'or')}?"
    else:
        hint = near(
            shown,
            sorted("/".join(part for part in each if part) for each in known),
            f"{kind.__name__}{'es' if kind.__name__.endswith('s') else 's'}",
        )
    return InputError(f"the cluster has no {kind.__name__} {shown}", hint=hint)


def thing(kind: type[ApiObject] | None, namespace: str, name: str) -> Thing:
    """Return an object as a thing that an edit changes; ``None`` stands for an unknown kind."""
    if kind is None:
        return ("unknown", name)
    if not is_namespaced(kind):
        return (kind.__name__, name)
    return (kind.__name__, f"{namespace or DEFAULT_NAMESPACE}/{name}")


def written_target(kind: str, namespace: str, name: str) -> str:
    """Return an object in the form of the command line: ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``."""
    return "/".join(part for part in (kind, namespace, name) if part)


# Parsers and checks for the parts of a what-if option's value.


def split_node(text: str, expected: str) -> tuple[str, str]:
    """Split ``NODE:REST`` into the node and the rest.

    Raises InputError if the text does not have that form; the hint gives the expected form.
    """
    node, colon, rest = text.partition(":")
    if not node or not colon or not rest or "=" in node:
        raise InputError(f'"{text}" does not name a node and a change', hint=expected)
    return node, rest


def split_entry(text: str, entry: str, what: str, hint: str, *, where: str = "") -> tuple[str, str | None]:
    """Split ``KEY=VALUE`` into key and value, and ``KEY-``, which removes the entry, into the key and ``None``.

    Raises InputError if the entry has neither form, or the key or the value is not valid.
    """
    key, equals, value = entry.partition("=")
    if not equals and not key.endswith("-"):
        raise InputError(f'"{text}" has no value for the {what}', where=where, hint=hint)
    key = key if equals else key.removesuffix("-")
    check_label(text, key, value, where=where)
    return key, value if equals else None


def check_label(text: str, key: str, value: str, *, where: str = "") -> None:
    """Check the key and value of a label or taint.

    Raises InputError if the key or the value is not valid.
    """
    for part, problems in ((key, qualified_name_problems(key)), (value, label_value_problems(value))):
        if problems:
            raise InputError(f'"{text}": "{part}" is not valid here', where=where, hint="; ".join(problems))


def check_effect(text: str, effect: str, *, where: str = "") -> None:
    """Check the effect of a taint.

    Raises InputError if the effect is not one of Kubernetes' taint effects.
    """
    if effect not in EFFECTS:
        hint = f"the effects are {', '.join(EFFECTS)}"
        raise InputError(f'"{text}": "{effect}" is not a taint effect', where=where, hint=hint)


def split_target(text: str, namespace: str) -> tuple[str, str, str]:
    """Return kind, name and namespace of an object written as ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``.

    Raises InputError if the text names no object, or names an object in a namespace other than ``namespace``.
    """
    kind, _, rest = text.partition("/")
    own, slash, name = rest.rpartition("/")
    if not kind or not name or "/" in own or (slash and not own):
        raise InputError(f'"{text}" names no object', hint="KIND/NAME or KIND/NAMESPACE/NAME, such as pod/shop/web-1")
    if not is_namespaced(find_kind(kind)):
        if own:
            raise InputError(f'"{text}": a {find_kind(kind).__name__} has no namespace', hint=f"give {kind}/{name}")
        return kind, name, ""
    if own and namespace and own != namespace:
        raise InputError(f'"{text}" names another namespace than -n {namespace}')
    return kind, name, own or namespace

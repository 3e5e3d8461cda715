"""Changes as they are written on a command line."""

from __future__ import annotations

import re
from typing import Final

from kschedctl.api.core import Taint
from kschedctl.api.kind_names import is_namespaced
from kschedctl.api.names import label_value_problems, qualified_name_problems
from kschedctl.errors import InputError
from kschedctl.whatif.apply import EFFECTS
from kschedctl.whatif.edits import Delete, LabelNode, SetReplicas, TaintNode
from kschedctl.whatif.targets import find_kind

_COPIES: Final = re.compile(r"(.+)\*([0-9]+)", re.ASCII)
_MOST_COPIES: Final = 10_000


def parse_source(text: str) -> tuple[str, int | None]:
    """Read ``FILE`` or ``FILE*COPIES``.

    Raises
    ------
    InputError
        Where the number of copies is none to make.

    Examples
    --------
    >>> parse_source("node.yaml"), parse_source("node.yaml*3")
    (('node.yaml', None), ('node.yaml', 3))
    """
    match = _COPIES.fullmatch(text)
    if match is None:
        return text, None
    copies = int(match[2])
    if not 1 <= copies <= _MOST_COPIES:
        raise InputError(f'"{text}": {copies} copies cannot be made', hint=f"give 1 to {_MOST_COPIES}")
    return match[1], copies


def parse_delete(text: str, namespace: str = "") -> Delete:
    """Read ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``.

    Parameters
    ----------
    text : str
        The text.
    namespace : str
        The namespace where the text names none; empty for the default one.

    Raises
    ------
    InputError
        Where it cannot be read.

    Examples
    --------
    >>> parse_delete("po/shop/web-1"), parse_delete("node/node-3", "shop")
    (Delete(kind='po', name='web-1', namespace='shop'), Delete(kind='node', name='node-3', namespace=''))
    """
    return Delete(*_target(text, namespace))


def parse_replicas(text: str, namespace: str = "") -> SetReplicas:
    """Read ``KIND/NAME=N`` or ``KIND/NAMESPACE/NAME=N``; as for ``parse_delete``.

    Examples
    --------
    >>> parse_replicas("deploy/web=9", "shop")
    SetReplicas(kind='deploy', name='web', replicas=9, namespace='shop')
    """
    target, equals, number = text.rpartition("=")
    if not equals or not re.fullmatch("[0-9]{1,6}", number):
        raise InputError(f'"{text}" does not say how many replicas', hint="KIND/NAME=N, such as deployment/web=5")
    kind, name, found = _target(target, namespace)
    return SetReplicas(kind, name, int(number), found)


def parse_label(text: str) -> LabelNode:
    """Read ``NODE:KEY=VALUE`` or ``NODE:KEY-``.

    Raises
    ------
    InputError
        Where it cannot be read.

    Examples
    --------
    >>> parse_label("node-1:disk=ssd"), parse_label("node-1:disk-")
    (LabelNode(node='node-1', key='disk', value='ssd'), LabelNode(node='node-1', key='disk', value=None))
    """
    node, label = _split_node(text, "NODE:KEY=VALUE or NODE:KEY-, such as node-1:disk=ssd")
    key, equals, value = label.partition("=")
    if not equals and not key.endswith("-"):
        raise InputError(
            f'"{text}" gives the label no value', hint="NODE:KEY=VALUE sets a label, NODE:KEY- takes it away"
        )
    key = key if equals else key.removesuffix("-")
    _check_label(text, key, value)
    return LabelNode(node, key, value if equals else None)


def parse_taint(text: str) -> TaintNode:
    """Read ``NODE:KEY=VALUE:EFFECT``, where the value may be missing; with ``-`` behind also without the effect.

    Raises
    ------
    InputError
        Where it cannot be read.

    Examples
    --------
    >>> print(parse_taint("node-1:gpu=true:NoSchedule"), parse_taint("node-1:gpu-"), sep=" | ")
    taint node-1:gpu=true:NoSchedule | taint node-1:gpu-
    """
    expected = "NODE:KEY=VALUE:EFFECT, such as node-1:gpu=true:NoSchedule, or with - behind to take it away"
    node, rest = _split_node(text, expected)
    remove = rest.endswith("-")
    label, colon, effect = rest.removesuffix("-").partition(":")
    key, _, value = label.partition("=")
    if not colon and not remove:
        raise InputError(f'"{text}" gives the taint no effect', hint=expected)
    if colon and effect not in EFFECTS:
        raise InputError(f'"{text}": "{effect}" is not an effect', hint=f"the effects are {', '.join(EFFECTS)}")
    _check_label(text, key, value)
    return TaintNode(node, Taint(key=key, value=value, effect=effect), remove)


def _split_node(text: str, expected: str) -> tuple[str, str]:
    node, colon, rest = text.partition(":")
    if not node or not colon or not rest or "=" in node:
        raise InputError(f'"{text}" does not say which node and what', hint=expected)
    return node, rest


def _check_label(text: str, key: str, value: str) -> None:
    for part, problems in ((key, qualified_name_problems(key)), (value, label_value_problems(value))):
        if problems:
            raise InputError(f'"{text}": "{part}" cannot be written there', hint="; ".join(problems))


def _target(text: str, namespace: str) -> tuple[str, str, str]:
    """Kind, name and namespace."""
    kind, _, rest = text.partition("/")
    own, slash, name = rest.rpartition("/")
    if not kind or not name or "/" in own or (slash and not own):
        raise InputError(f'"{text}" names no object', hint="KIND/NAME or KIND/NAMESPACE/NAME, such as pod/shop/web-1")
    if not is_namespaced(find_kind(kind)):
        if own:
            raise InputError(f'"{text}": a {find_kind(kind).__name__} is in no namespace', hint=f"give {kind}/{name}")
        return kind, name, ""
    if own and namespace and own != namespace:
        raise InputError(f'"{text}" is of another namespace than -n {namespace}')
    return kind, name, own or namespace

"""The collection of changes of a running cluster for a process that has not received them yet."""

from __future__ import annotations

from kschedctl.watch.feed import FeedChanges


def merge(into: FeedChanges, changes: FeedChanges) -> None:
    """Add later changes to earlier ones; only the last state of each object is kept.

    Examples
    --------
    >>> from kschedctl.objects.core import Node
    >>> earlier = FeedChanges(objects={Node: {("", "a"): None, ("", "b"): None}})
    >>> merge(earlier, FeedChanges(objects={Node: {("", "b"): Node(), ("", "c"): None}}))
    >>> [(name, node is None) for (_, name), node in earlier.objects[Node].items()]
    [('a', True), ('b', False), ('c', True)]
    """
    for kind, listed in changes.lists.items():
        into.objects.pop(kind, None)
        into.lists[kind] = dict(listed)
    for kind, changed in changes.objects.items():
        known = into.lists.get(kind)
        if known is None:
            into.objects.setdefault(kind, {}).update(changed)
            continue
        for name, obj in changed.items():
            if obj is None:
                known.pop(name, None)
            else:
                known[name] = obj

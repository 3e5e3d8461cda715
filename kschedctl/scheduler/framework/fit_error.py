"""The text of the FailedScheduling event (framework ``FitError``)."""

from __future__ import annotations

from collections import Counter


def fit_error(n_nodes: int, *, pre_filter: str, reasons: Counter[str], post_filter: str) -> str:
    """Return the message for a pod that fits on no node.

    Parameters
    ----------
    n_nodes : int
        The number of nodes in the cluster.
    pre_filter : str
        The PreFilter message. If not empty, it replaces the counts per reason.
    reasons : Counter of str
        The number of nodes for each reason.
    post_filter : str
        The PostFilter message, appended at the end.

    Examples
    --------
    >>> fit_error(3, pre_filter="", reasons=Counter({"Too many pods": 1, "Insufficient cpu": 2}), post_filter="")
    '0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu.'
    """
    text = f"0/{n_nodes} nodes are available:"
    if pre_filter:
        text += f" {pre_filter}."
    elif reasons:
        text += f" {', '.join(sorted(f'{count} {reason}' for reason, count in reasons.items()))}."
    return f"{text} {post_filter}" if post_filter else text

"""The pod classes and cached results about them. Derived clusters share one list of classes, which only grows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import TypeVar, cast

import numpy as np

from kschedctl.cluster.labels import LabelColumns
from kschedctl.cluster.records import PodClass
from kschedctl.common.arrays import Mask
from kschedctl.objects.selectors import Selector

V = TypeVar("V")


class PodClasses:
    """All pod classes of a cluster and of the clusters derived from it.

    A ``Pods`` instance uses the first ``n_classes`` of them; every result is cut to that length.

    Parameters
    ----------
    classes : iterable of PodClass
        The initial classes.

    Attributes
    ----------
    all : list of PodClass
        The classes. ``PodInterner`` appends new ones.
    """

    def __init__(self, classes: Iterable[PodClass]) -> None:
        self.all = list(classes)
        self._labels = LabelColumns([])
        self._namespaces = LabelColumns([])
        self._terminating = np.zeros(0, dtype=np.bool_)
        self._labelled = np.zeros(0, dtype=np.bool_)
        self._companions: dict[Callable[[PodClasses], object], object] = {}
        self._having: dict[Callable[[PodClass], object], tuple[list[tuple[int, object]], int]] = {}

    def _catch_up(self) -> None:
        new = self.all[len(self._labels) :]
        if new:
            self._labels.grow([pod_class.labels for pod_class in new])
            self._namespaces.grow([{"": pod_class.namespace} for pod_class in new])
            terminating = np.array([pod_class.terminating for pod_class in new], dtype=np.bool_)
            self._terminating = np.concatenate((self._terminating, terminating))
            labelled = np.array([bool(pod_class.labels) for pod_class in new], dtype=np.bool_)
            self._labelled = np.concatenate((self._labelled, labelled))

    def companion(self, kind: Callable[[PodClasses], V]) -> V:
        """Return an object that another package keeps in step with the classes, created on first use.

        Parameters
        ----------
        kind : type
            The type to create from the classes; its instance must handle classes that are added later.
        """
        found = self._companions.get(kind)
        if found is None:
            found = self._companions[kind] = kind(self)
        return cast("V", found)

    def matching(self, selector: Selector, n_classes: int) -> Mask:
        """Return the classes that a selector matches: bool, shape (n_classes,)."""
        self._catch_up()
        return self._labels.matches(selector)[:n_classes]

    def labelled(self, n_classes: int) -> Mask:
        """Return the classes with at least one label: bool, shape (n_classes,). Do not modify."""
        self._catch_up()
        return self._labelled[:n_classes]

    def terminating(self, n_classes: int) -> Mask:
        """Return the classes of terminating pods: bool, shape (n_classes,). Do not modify."""
        self._catch_up()
        return self._terminating[:n_classes]

    def in_namespaces(self, namespaces: frozenset[str], n_classes: int) -> Mask:
        """Return the classes of pods in the given namespaces: bool, shape (n_classes,)."""
        self._catch_up()
        column = self._namespaces[""]
        codes = [code for name in namespaces if (code := column.code(name)) is not None]
        if len(codes) == 1:
            one: Mask = column.codes[:n_classes] == codes[0]
            return one
        return np.isin(column.codes[:n_classes], codes)

    def having(self, value: Callable[[PodClass], V], n_classes: int) -> list[tuple[int, V]]:
        """Return the class ids and values of the classes with a true value; the value of each class is computed once.

        Parameters
        ----------
        value : callable
            Computes the value of a class; false values are left out. Results are cached under this function object.
        n_classes : int
            The number of classes to include.
        """
        found, n_asked = self._having.get(value, ([], 0))
        if n_asked < len(self.all):
            for class_id in range(n_asked, len(self.all)):
                one = value(self.all[class_id])
                if one:
                    found.append((class_id, one))
            self._having[value] = found, len(self.all)
        known = cast("list[tuple[int, V]]", found)
        if known and known[-1][0] >= n_classes:
            return known[: bisect_left(known, n_classes, key=lambda pair: pair[0])]
        return known

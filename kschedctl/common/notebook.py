"""The display of answers, clusters and simulations in notebooks."""

from __future__ import annotations

from importlib import import_module


class ShownInNotebooks:
    """Base of the objects that notebooks show as their document, in HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the object as HTML, which notebooks show."""
        # The objects do not depend on their presentation, so the module is looked up by its name.
        html: str = import_module("kschedctl.output.html").as_html(self)
        return html

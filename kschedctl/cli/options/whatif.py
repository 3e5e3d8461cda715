"""The options that change the cluster and the pods before a command answers, generated from the list of edits."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Final, Self

from kschedctl.cli.options.declared import OptionGroup, typer_annotation
from kschedctl.cli.options.shared import STRICT, ValidateOption, max_bytes
from kschedctl.common.options import Option
from kschedctl.sources.snapshot.validation import Validation
from kschedctl.trials.whatif.edit import Edit, PodEdit
from kschedctl.trials.whatif.edits import EDITS, WhatIfs


class WhatIfOptions(OptionGroup):
    """The values of the what-if options, as given."""

    title: ClassVar[str] = "What-ifs"
    #: The edits that have an option, in the order in which they take effect.
    offered: ClassVar[tuple[type[Edit], ...]] = EDITS

    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The namespace of objects that do not set one; empty for the default one.
    namespace: str = ""
    #: The treatment of manifest fields that an API server would reject.
    validate: str = STRICT
    #: The limit of data unpacked from a manifest; empty for the default.
    max_unpacked: str = ""

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        kind = inspect.Parameter.KEYWORD_ONLY
        options = [edit.option for edit in cls.offered]
        return [
            inspect.Parameter(option.name, kind, default=None, annotation=cls._titled(_annotation(option)))
            for option in options
        ]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        names = (edit.option.name for edit in cls.offered)
        return cls(
            texts={name: tuple(values[name] or ()) for name in names},
            namespace=values.get("namespace", ""),
            validate=values.get("validate", STRICT),
            max_unpacked=values.get("max_unpacked", ""),
        )

    @property
    def given(self) -> bool:
        """True if any what-if is given."""
        return any(self.texts.values())

    def request(self) -> WhatIfs:
        return WhatIfs(
            texts=self.texts,
            namespace=self.namespace,
            validation=Validation.of(self.validate),
            max_bytes=max_bytes(self.max_unpacked),
        )


class ClusterWhatIfOptions(WhatIfOptions):
    """The what-if options that change the cluster, for commands without pods and manifests."""

    offered: ClassVar[tuple[type[Edit], ...]] = tuple(edit for edit in EDITS if not issubclass(edit, PodEdit))

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        validate = inspect.Parameter(
            "validate", inspect.Parameter.KEYWORD_ONLY, default=STRICT, annotation=ValidateOption
        )
        # The decorator has made another class, because of the slots.
        return [*super().parameters(), validate]


#: The completion of a value, by the start of its metavar.
_COMPLETED_BY: Final = {"NODE": "nodes", "ZONE": "zones", "KIND/NAME": "workloads"}

NO_WHAT_IFS: Final = WhatIfOptions()


def _annotation(option: Option) -> Any:
    begins = option.metavar.partition(":")[0].partition("=")[0]
    return typer_annotation(Sequence[str], replace(option, completion=_COMPLETED_BY.get(begins, "")))

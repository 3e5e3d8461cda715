"""The names of the modelled releases, for options and help, which need nothing else of them."""

from typing import Final

#: The modelled releases, oldest first; ``releases.release`` has their rules.
RELEASE_NAMES: Final = ("1.33", "1.34", "1.35", "1.36", "1.37", "1.38")

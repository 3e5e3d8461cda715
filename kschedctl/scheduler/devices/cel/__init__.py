"""CEL selectors of devices: a library parses and type-checks them; evaluation follows the scheduler's."""

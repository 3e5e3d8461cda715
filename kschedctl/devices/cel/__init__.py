"""CEL selectors of devices: the library parses and checks types, the evaluation is the scheduler's."""

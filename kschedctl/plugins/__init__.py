"""The scheduler's own plugins, one module each; the table of them is in ``registry``."""

"""The in-tree scheduler plugins, one module each; the table of plugins is in ``registry``."""

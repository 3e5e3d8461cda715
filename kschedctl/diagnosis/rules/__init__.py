"""The rules about pods, in modules by theme; ``diagnose`` has their order. The docstring of a rule is its page."""

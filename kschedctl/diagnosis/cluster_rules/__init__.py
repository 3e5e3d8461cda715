"""The rules about a cluster; ``diagnose`` has their order."""

"""The option groups of commands: cluster, pods, what-ifs, output."""

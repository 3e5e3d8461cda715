"""The groups of options that commands wear: which cluster, which pods, what if, which form of output."""

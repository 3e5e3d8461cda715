"""Snapshots of a cluster: readers for files of kubectl, kwok, must-gather and others, and a writer."""

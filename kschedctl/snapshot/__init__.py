"""Snapshots of a cluster: reading what kubectl, kwok, must-gather and others write."""

"""Volumes: the scheduler's binder, the PersistentVolume controller's matching, and what is attached to nodes."""

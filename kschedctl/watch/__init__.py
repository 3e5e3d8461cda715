"""Pods that wait, explained while a cluster lives: a cache that moves with it, what was said last, who may say it."""

"""Simulation of elections on a virtual clock, with crashes, network partitions, slow requests and clock errors."""

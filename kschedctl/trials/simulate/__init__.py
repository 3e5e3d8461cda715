"""Simulation of many pods in virtual time: the queue, the loop around scheduling cycles, and the consequences."""

"""Sweeps: a plan's many what-ifs, each a case with a row of a table, on many cores or machines."""

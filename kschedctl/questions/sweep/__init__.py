"""Parameter sweeps: many what-if cases from one plan, each a row of a table, on many cores or machines."""

"""The command line: one module per command. It contains no decisions; the engine is imported only when it is used."""

"""The command line: a module per command. Nothing here decides anything; engine and report are imported when used."""

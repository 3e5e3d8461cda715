"""Diagnoses: the cause of a problem as an operator would say it, with cures; one rule per module of ``rules``."""

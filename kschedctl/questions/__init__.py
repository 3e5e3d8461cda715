"""Questions: one folder for each, with its request, analysis, answer and document."""

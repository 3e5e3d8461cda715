"""What people ask: one folder per question, with its request, analysis, answer and document."""

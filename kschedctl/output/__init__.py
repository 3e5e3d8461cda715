"""Forms of an answer: terminal, pages, data, and the formats of other programs."""

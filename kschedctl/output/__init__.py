"""How an answer looks: terminal, pages, data, and the formats of other programs."""

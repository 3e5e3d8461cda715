"""The Model Context Protocol: each question is a tool of programs that ask in words."""

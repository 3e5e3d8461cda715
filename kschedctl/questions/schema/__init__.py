"""Answers: the result of each question as one type, documented at its fields; the JSON Schema is made from them."""

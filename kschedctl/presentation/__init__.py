"""Presentation: an answer goes in, a document of paragraphs, tables and next questions comes out."""

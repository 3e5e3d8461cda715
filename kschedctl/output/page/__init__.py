"""HTML pages: a document as a self-contained file, or as a fragment of a page or notebook."""

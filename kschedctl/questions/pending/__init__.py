"""pending."""

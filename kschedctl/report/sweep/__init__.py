"""What came of a sweep: the table of its cases."""

"""What a run says, as a page, tables and figures."""

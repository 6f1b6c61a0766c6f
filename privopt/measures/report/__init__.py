"""Everything a mechanism leaks, in one table, and what each measure implies."""

"""What goes with a release to those who use it, answer for it and check it: explanations, receipts, bundles."""

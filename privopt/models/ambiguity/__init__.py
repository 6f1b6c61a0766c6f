"""Sets of distributions, for certificates that hold for every one of them."""

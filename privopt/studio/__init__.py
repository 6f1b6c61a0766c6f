"""A page on one's own computer: pick columns and the secret, see the trade-off and the risk, export a release."""

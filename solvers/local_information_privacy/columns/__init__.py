"""Column generation: posteriors come in as prices ask for them, with a proof that none is missed."""

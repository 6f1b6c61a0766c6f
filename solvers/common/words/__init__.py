"""Private kernels on words of several letters: programmes, ascents and bounds, for any law, cost and budget."""

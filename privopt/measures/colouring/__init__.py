"""Privacy and accuracy of randomised colourings of a graph of datasets."""

"""Code that computes again what the papers print, a module a part of a paper; ``items.csv`` lists every item."""

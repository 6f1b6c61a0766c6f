"""The linear program whose columns are blocks of symbols, and the partitions that its prices leave."""

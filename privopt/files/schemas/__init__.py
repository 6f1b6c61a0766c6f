"""Published JSON Schemas of the files that privopt reads and writes."""

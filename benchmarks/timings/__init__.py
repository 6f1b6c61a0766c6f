"""Work that is timed and invariants that are tried: measurements and headlines."""

"""Whether ``solve`` is beaten by a solver by name, and whether it is late."""

"""The suite ``dispatch``: instances of every problem, from small to far beyond what any solver proves."""

"""The whole machine: a chain of machine states that steers the regimes of all ranks."""

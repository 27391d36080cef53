"""Models of every algorithm, fitted to measurements; the choice that follows from them."""

"""Templates of the operators that take nearly all the time of a network."""

"""Which memory of a program may be one: accesses in order, and what follows of them."""

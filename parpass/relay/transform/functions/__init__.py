"""Functions put in the place of calls, lifted, expanded, removed."""

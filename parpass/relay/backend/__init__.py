"""Machine code of networks."""

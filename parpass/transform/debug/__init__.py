"""Finding the pass that is to blame, and keeping what it failed on."""

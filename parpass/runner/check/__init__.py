"""The contract check of function passes, and the round-trip check of codecs."""

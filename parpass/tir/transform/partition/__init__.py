"""Where conditions cut a loop, and the parts."""

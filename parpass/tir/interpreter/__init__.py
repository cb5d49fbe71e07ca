"""What loop programs mean: their evaluation on numpy, one element after the other."""

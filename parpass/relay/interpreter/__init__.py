"""What programs mean: their evaluation on numpy."""

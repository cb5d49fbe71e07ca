"""Programs in A-normal form, basic blocks, and graph form."""

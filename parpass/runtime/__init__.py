"""TVM's runtime system: what compiled programs are called by."""

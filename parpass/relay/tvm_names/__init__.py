"""TVM's other names for what is here under one."""

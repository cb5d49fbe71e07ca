"""The standard library: files of Relay's text, by the names that TVM gives them."""

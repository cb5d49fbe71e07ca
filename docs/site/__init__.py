"""The documentation's site: what Sphinx is given besides the pages of this folder."""

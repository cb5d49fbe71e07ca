"""Whether function passes keep their contract."""

"""The IR as text, in Relay's format."""

"""Types, their structure and text, and how operators relate them."""

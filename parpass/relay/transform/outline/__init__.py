"""One large function as several, so that workers share it, and one again."""

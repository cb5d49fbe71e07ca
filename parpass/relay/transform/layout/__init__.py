"""Programs in other layouts: by rules for a target, or as they are asked for."""

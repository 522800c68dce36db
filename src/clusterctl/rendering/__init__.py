"""Values in, YAML out: one typed function for each template."""

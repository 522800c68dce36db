"""A Kubernetes API in memory, complete enough for unmodified kubectl and helm."""

"""Builds the object graph; only the command line knows it. The one place that tells the sandbox from AWS."""

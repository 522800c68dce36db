"""Knows the idea of a stage, and no particular stage: plans are data, and one executor carries them out."""

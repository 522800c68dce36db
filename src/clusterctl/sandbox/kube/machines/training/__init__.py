"""Training in pods: what a program would print is worked out from what its pod really asked for."""

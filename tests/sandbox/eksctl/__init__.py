"""The eksctl stand-in as a process."""

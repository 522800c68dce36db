"""One file for each step from nothing to a verified cluster; independent of each other."""

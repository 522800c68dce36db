"""What clusterctl knows and decides: frozen values and pure functions, no I/O and no clock."""

"""AWS on loopback: moto's server, extended from outside where it lacks what clusterctl meets."""

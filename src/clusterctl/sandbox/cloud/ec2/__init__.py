"""EC2 where moto's is missing or too kind: capacity, reservations, zones, placement groups, prices on spot."""

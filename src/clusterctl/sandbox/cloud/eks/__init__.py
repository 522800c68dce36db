"""EKS over simulated time: clusters, managed node groups, add-ons and access."""

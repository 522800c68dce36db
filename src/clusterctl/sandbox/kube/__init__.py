"""The Kubernetes side of the sandbox: one API for each EKS cluster, and the machines that live in it."""

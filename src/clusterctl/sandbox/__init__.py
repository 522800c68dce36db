"""The local world: AWS and a Kubernetes API on loopback, and an eksctl that obeys them.

Two processes hold it. `sandbox.cloud` is AWS (moto's server, extended); `sandbox.kube` opens one Kubernetes API for
each EKS cluster and runs the simulated machines and controllers, which are clients of that API. Everything happens in
simulated time (`sandbox.clock`) and by a scenario (`sandbox.scenario`).
"""

"""The parts of Tools/cluster and of Tools/fuzz/torture --cluster: boxes, links between them, clients, faults and checks."""

"""What the structure of a file cannot say: whether the graph, the nodes' code and the state fit together."""

"""What is measured: one module per workload, each a function from a `Run` to a `Section` of the report."""

"""What operators see: Prometheus metrics and log lines, never a text, an address or a key."""

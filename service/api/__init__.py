"""The HTTP interface: routes, schemas, limits, and how failures look. The only room that knows status codes."""

"""Systems under test behind one interface, each in a process of its own."""

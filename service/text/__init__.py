"""Taking text apart and putting it together: pure functions on strings that know no model and no arrays."""

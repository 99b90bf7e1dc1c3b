"""Holds an export to what it must compute: structure, parity with a plain reference, agreement of its precisions."""

"""Writes the two graphs of a package node by node: builder, linear layers, attention, encoder, decoder."""

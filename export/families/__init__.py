"""Model families: what each architecture is, as data (`spec`), and how its checkpoints spell it."""

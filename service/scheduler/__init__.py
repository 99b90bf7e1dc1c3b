"""Who runs in which step: continuous batching over one engine, on one thread.

`planner`, `queue` and `rows` are pure; `loop` is the thread and `inbox` its only way in.
"""

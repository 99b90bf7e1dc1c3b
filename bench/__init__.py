"""Speed, memory and quality of Verso beside its rivals: same weights, texts, threads and beam, measured in one run.

Measures what `service` does; nothing in the service knows of it. `python -m bench --help` lists the workloads.
"""

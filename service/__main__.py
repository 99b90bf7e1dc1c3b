"""`python -m service` is the `verso` command."""

from service.cli import main

main()

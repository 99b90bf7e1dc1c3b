"""`python -m bench`: see `bench.command`; `python -m bench profile`: see `bench.profile_command`."""

import sys


def main() -> None:
    """Runs the command that the arguments name."""
    # Only here: worker processes import this module too.
    if sys.argv[1:2] == ["profile"]:
        from bench.profile_command import main as profile

        profile(sys.argv[2:], prog_name="python -m bench profile")
    from bench.command import main as measure

    measure(prog_name="python -m bench")


if __name__ == "__main__":
    main()

"""The command line, `partwhole` and `python -m partwhole`; an interruption is heeded while all is being imported, too."""

import sys


def main() -> int:
    """Run the command that was given, and return its exit code; see `partwhole.cli.main`."""
    try:
        from partwhole.cli.main import main as command
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    return command()


if __name__ == "__main__":
    sys.exit(main())

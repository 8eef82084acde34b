"""The command line, `partwhole` and `python -m partwhole`: Ctrl-C ends it with one line, at any moment.

This runs first, so it imports nothing but `sys` before Ctrl-C is handled.
"""

import sys

_LINE = "error: interrupted\n"
_INTERRUPTED = 130


def main() -> int:
    """Run the given command, and return its exit code; see `partwhole.cli.main`."""
    try:
        # an interrupt during an import may be lost there, or turn into another error
        changed = leave_at_once()
        from partwhole.cli.main import main as command

        if changed:
            import signal

            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = command()
        # threads and libraries are closed next; an interrupt there would print a traceback
        leave_at_once()
    except KeyboardInterrupt:
        sys.stderr.write(_LINE)
        return _INTERRUPTED
    return code


def leave_at_once() -> bool:
    """Let Ctrl-C end the process at once, while nothing is computed; False if the handler can't be changed."""
    import os
    import signal

    def leave(number: int, frame: object) -> None:
        os.write(2, _LINE.encode())
        os._exit(_INTERRUPTED)

    # a background process may ignore it, and in a thread no handler can be set
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    try:
        sys.stdout.flush()  # what was printed must not be lost
        signal.signal(signal.SIGINT, leave)
    except (OSError, ValueError):
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())

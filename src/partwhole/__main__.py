"""The command line, `partwhole` and `python -m partwhole`: a Ctrl-C ends it with one line, at any moment.

It is what runs first, so it imports nothing, be it ever so small, before it is ready to be interrupted.
"""

import sys

_LINE = "error: interrupted\n"
_INTERRUPTED = 130


def main() -> int:
    """Run the command that was given, and return its exit code; see `partwhole.cli.main`."""
    try:
        # a module that is interrupted while it is imported may lose the interruption, or make another error of it
        changed = _leave_at_once()
        from partwhole.cli.main import main as command

        if changed:
            import signal

            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = command()
        # threads and libraries are closed next, and if that is interrupted it prints a traceback
        _leave_at_once()
    except KeyboardInterrupt:
        sys.stderr.write(_LINE)
        return _INTERRUPTED
    return code


def _leave_at_once() -> bool:
    """Let a Ctrl-C end the process here and now, while nothing is under way; False where that is not for us to say."""
    import os
    import signal

    def leave(number: int, frame: object) -> None:
        os.write(2, _LINE.encode())
        os._exit(_INTERRUPTED)

    # in the background it may be ignored, and in a thread no handler can be set
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

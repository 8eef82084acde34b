"""`python -m partwhole` is the command line."""

import sys

from partwhole.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

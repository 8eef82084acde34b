"""`python -m partwhole` is the command line."""

from partwhole.cli.main import main

if __name__ == "__main__":
    main()

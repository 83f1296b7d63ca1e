"""Run `python -m tinygate`."""

from tinygate.cli.main import main

if __name__ == "__main__":
    main()

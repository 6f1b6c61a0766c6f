"""``python -m privopt`` runs the command line."""

from privopt.cli import main

if __name__ == "__main__":
    main()

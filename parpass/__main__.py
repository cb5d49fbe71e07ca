"""`python -m parpass` is the `parpass` command."""

if __name__ == "__main__":  # workers import this module under another name
    from parpass.cli.entry import run

    run()

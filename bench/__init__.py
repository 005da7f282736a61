"""The benchmark: `python -m bench` prints one table, `--write` puts it into bench/README.md."""

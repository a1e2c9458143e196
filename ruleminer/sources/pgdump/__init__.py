"""The parts of loading a pg_dump file: reading it, understanding it, and one file per engine it goes into."""

"""Validation: any R2RML mapping run on the database, and its triples held against a scenario's query pairs."""

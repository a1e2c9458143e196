"""ruleminer learns the mapping from a relational database to an ontology from examples."""

__version__ = "0.1.0"

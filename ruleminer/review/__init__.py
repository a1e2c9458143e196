"""The way back: what the user says of a proposal, the questions that are worth asking, and the page to answer them."""

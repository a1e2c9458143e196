"""What the shipped decision network is made from: generated scenarios, as problems whose answers are known."""

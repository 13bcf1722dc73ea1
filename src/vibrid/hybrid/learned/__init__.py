"""Networks that stand in for a device: what they see, how they answer, how they are trained, how they join a test."""

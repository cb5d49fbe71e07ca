"""What `InstrumentBoundCheckers` is made of."""

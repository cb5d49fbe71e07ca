"""Scales of channels, folded into the weights before or behind them."""

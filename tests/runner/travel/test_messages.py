from __future__ import annotations

from parpass.runner.travel.messages import pack_message, unpack_message


def test_messages_carry_lambdas_and_closures():
    amount = 3
    assert unpack_message(pack_message(lambda x: x + amount))(4) == 7  # pyright: ignore[reportUnknownLambdaType] -- a lambda on purpose

class GenericBackendV2:
    def __init__(
        self,
        num_qubits: int,
        *,
        coupling_map: list[list[int]] | None = ...,
        seed: int | None = ...,
    ) -> None: ...

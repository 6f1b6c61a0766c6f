"""The life of a problem: contracts, dispatch, judgement, certificates, verification."""

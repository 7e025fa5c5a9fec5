//! What tests and benchmarks stand on.

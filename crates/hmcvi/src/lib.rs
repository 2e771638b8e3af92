//! Variational inference with Hamiltonian Monte Carlo.
#![forbid(unsafe_code)]

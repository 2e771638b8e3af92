//! Print a program: stages, fused groups, products with shapes, work and memory.

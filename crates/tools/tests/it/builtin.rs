//! Tests of builtin.

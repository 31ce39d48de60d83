//! Tests of egress.

//! Tests of chaos.

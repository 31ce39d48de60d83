//! Tests of select.

//! Tests of call.

//! Tests of skill.

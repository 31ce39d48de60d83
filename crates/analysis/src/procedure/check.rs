//! Tests of reading and running on small made-up tables.

use super::*;

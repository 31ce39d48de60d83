//! What happens next. To come.
